-- renew: extend the lease if its holder is still exactly this. Never makes one: what expired is gone.
-- KEYS  holder
-- ARGV  owner; token; ttl in ms
-- answers {kept} or {lost, what is there}
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then return {'lost', ''} end
local held = redis.call('GET', KEYS[1])
if held ~= ARGV[1] .. ' ' .. ARGV[2] then return {'lost', held:sub(1, 200)} end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {'kept'}
