// One replica of a peer, as its own page says to use it: prints "ready" once it tries to lead, and "elected" when it does.
// node candidate.cjs FOLDER PACKAGE PORT TTL_MS WAIT_MS
'use strict'
const { createRequire } = require('node:module')
const [folder, name, port, ttl, wait] = process.argv.slice(2)
const from = createRequire(`${folder}/package.json`)
const Redis = from('ioredis')
const redis = new Redis({ host: '127.0.0.1', port: Number(port) })
const options = { ttl: Number(ttl), wait: Number(wait), key: 'bench' }
const say = (word) => process.stdout.write(`${word}\n`)

async function campaign() {
  if (name === 'redis-leader') {
    const Leader = from('redis-leader')
    const leader = new Leader(redis, options)
    leader.on('elected', () => say('elected'))
    leader.elect()
  } else if (name === 'safe-redis-leader') {
    const leader = await from('safe-redis-leader').createSafeRedisLeader({ asyncRedis: redis, ...options })
    leader.on('elected', () => say('elected'))
    await leader.elect()
  } else {
    // A lock, which its users make a leader of: try every so often, extend at half of the ttl.
    const Redlock = from('redlock')
    const locks = new Redlock([redis], { retryCount: 0 })
    const attempt = async () => {
      try {
        let lock = await locks.lock('bench', options.ttl)
        say('elected')
        setInterval(async () => { lock = await lock.extend(options.ttl) }, options.ttl / 2)
      } catch {
        setTimeout(attempt, options.wait)
      }
    }
    attempt()
  }
}

redis.once('ready', async () => {
  await campaign()
  say('ready')
})
