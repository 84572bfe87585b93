-- acquire: win the lease and a token, or learn who holds it. Both or neither: a lease without a token cannot be.
-- KEYS  holder "<owner> <token>", expiring; token, the counter; store, the id of this Redis
-- ARGV  owner; ttl in ms; floor: the token that Postgres holds; the greatest token that a double counts exactly; the
--       greatest count from which Postgres takes the next token; the id of this Redis, if it has none; the id of the
--       Redis in which the installed leader won, while that leader is alive, else empty
-- answers {won, token, 1 if ours already, 1 if the floor raised the counter, the id of this Redis}
--         {held, holder, ms left, 1 if it had no ttl and was given one}
--         {elsewhere, the id of this Redis}
--         {broken, which key, what is wrong, what it holds}
local holder, counter, store = KEYS[1], KEYS[2], KEYS[3]
local owner, ttl, floor, greatest, ceiling = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local fresh, incumbent = ARGV[6], ARGV[7]

local function kind(key)
  return redis.call('TYPE', key).ok
end

-- Whole numbers compare as text: shorter is smaller, and no double rounds them.
local function above(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

local is = kind(store)
if is ~= 'none' and is ~= 'string' then return {'broken', 'store', 'type', is} end
local known = redis.call('GET', store)
if known and (#known ~= 36 or known:find('[^%x%-]')) then return {'broken', 'store', 'value', known:sub(1, 200)} end

-- Made once, where it is first needed; a Redis that lost its data gets another one.
local function id()
  if not known then
    known = fresh
    redis.call('SET', store, known)
  end
  return known
end

is = kind(holder)
if is ~= 'none' and is ~= 'string' then return {'broken', 'holder', 'type', is} end

local held = redis.call('GET', holder)
if held then
  local who, token = held:match('^(.*) ([1-9]%d*)$')
  if not who or above(token, greatest) then return {'broken', 'holder', 'value', held:sub(1, 200)} end
  if who == owner then
    redis.call('PEXPIRE', holder, ttl)
    return {'won', token, 1, 0, id()}
  end
  local left = redis.call('PTTL', holder)
  if left >= 0 then return {'held', held, left, 0} end
  redis.call('PEXPIRE', holder, ttl)
  return {'held', held, ttl, 1}
end

-- After "held": where somebody leads by this Redis it is the right one, whatever became of its id.
if incumbent ~= '' and incumbent ~= id() then return {'elsewhere', id()} end

is = kind(counter)
if is ~= 'none' and is ~= 'string' then return {'broken', 'token', 'type', is} end
local last = redis.call('GET', counter) or '0'
if last ~= '0' and not last:match('^[1-9]%d*$') then return {'broken', 'token', 'value', last:sub(1, 200)} end

local raised = 0
if above(floor, last) then
  last, raised = floor, 1
end
if not above(greatest, last) then return {'broken', 'token', 'range', last} end
-- Postgres would refuse the token: then nobody shall hold a lease that leads nowhere.
if above(last, ceiling) then return {'broken', 'token', 'leap', last} end
if raised == 1 then redis.call('SET', counter, last) end
redis.call('INCR', counter)
local token = redis.call('GET', counter)
redis.call('SET', holder, owner .. ' ' .. token, 'PX', ttl)
return {'won', token, 0, raised, id()}
