// How long nobody leads after SIGKILL where people elect a leader on Redis with a package of npm: three replicas, one
// Redis, the ttl of our own bench. The packages are installed into a temporary folder, and are nowhere in this repository.
// Rows for docs/performance.md go to standard output, progress to standard error.
//
//   node benches/npm/takeover.mjs        COUNTERFOIL_BENCH_TAKEOVERS=20
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const TTL = 2000
// In the proportion to the ttl that their own defaults have, 1 s of 10 s.
const WAIT = 200
const PATIENCE = 60_000
// Fewer than 20 only where whoever calls says so.
const COUNT = Number(process.env.COUNTERFOIL_BENCH_TAKEOVERS ?? 0) || 20
const PEERS = { 'redis-leader': '0.1.0', 'safe-redis-leader': '0.0.6', redlock: '4.2.0' }

const folder = mkdtempSync(join(tmpdir(), 'counterfoil-npm-'))
const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

function start(program, words) {
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'ignore'] })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

// Resolves with what a promise gives, or ends the bench: a wait that takes so long has failed.
async function within(what, promise) {
  const timer = setTimeout(() => {
    console.error(`bench: not in time: ${what}`)
    process.exit(1)
  }, PATIENCE)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}

class Fleet {
  constructor(name, port) {
    Object.assign(this, { name, port, replicas: new Set(), leader: undefined, waiting: undefined })
  }

  // One replica more; resolves when it tries to lead.
  add() {
    const here = new URL('candidate.cjs', import.meta.url).pathname
    const replica = start(process.execPath, [here, folder, this.name, this.port, TTL, WAIT])
    this.replicas.add(replica)
    return within(`a replica of ${this.name}`, new Promise((resolve) => {
      replica.stdout.on('data', (data) => {
        for (const word of String(data).split('\n')) {
          if (word === 'ready') resolve()
          if (word === 'elected') {
            this.leader = replica
            this.waiting?.(performance.now())
          }
        }
      })
    }))
  }

  // When the next one leads.
  elected() {
    return within(`a leader of ${this.name}`, new Promise((resolve) => { this.waiting = resolve }))
  }
}

async function takeovers(name) {
  const port = await freePort()
  const redis = start('redis-server', ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'])
  await within('Redis', new Promise((resolve) => redis.stdout.on('data', (data) => {
    if (String(data).includes('Ready to accept connections')) resolve()
  })))
  const fleet = new Fleet(name, port)
  const first = fleet.elected()
  await Promise.all([fleet.add(), fleet.add(), fleet.add()])
  await first
  const took = []
  for (let turn = 0; turn < COUNT; turn += 1) {
    // Not a wait for something: where between two renewals the end falls.
    await pause(TTL / 2 + (TTL / 2) * (turn / COUNT))
    const next = fleet.elected()
    const killed = performance.now()
    fleet.leader.kill('SIGKILL')
    fleet.replicas.delete(fleet.leader)
    took.push((await next) - killed)
    console.error(`takeover: ${name} in ${took.at(-1).toFixed(3)} ms`)
    await fleet.add()
  }
  for (const replica of fleet.replicas) replica.kill('SIGKILL')
  redis.kill('SIGKILL')
  return took.sort((a, b) => a - b)
}

writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
const packages = Object.entries({ ...PEERS, ioredis: '5' }).map(([name, version]) => `${name}@${version}`)
const words = ['install', '--prefix', folder, '--silent', '--no-audit', '--no-fund', '--ignore-scripts', ...packages]
const installed = spawnSync('npm', words, { stdio: ['ignore', 'ignore', 'inherit'] })
if (installed.status !== 0) {
  console.error('bench: npm could not install the peers; their takeovers are not measured')
  process.exit(3)
}
for (const [name, version] of Object.entries(PEERS)) {
  const took = await takeovers(name)
  const at = (share) => took[Math.min(took.length - 1, Math.ceil(took.length * share) - 1)]
  const ratio = (ms) => (ms / TTL).toFixed(2)
  console.log(`| takeover after SIGKILL with npm's ${name} ${version} | ttl, ${TTL / 1000} s; a follower tries each ${WAIT} ms | ` +
    `median ${ratio(at(0.5))} × ttl, 99 of 100 up to ${ratio(at(0.99))} × ttl, longest ${ratio(took.at(-1))} × ttl ` +
    `(${took.at(-1).toFixed(3)} ms) of ${took.length} | — | — |`)
}
process.exit(0)
