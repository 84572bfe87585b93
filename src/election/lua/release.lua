-- release: give the lease back if its holder is still exactly this, and wake those who wait for it.
-- KEYS  holder
-- ARGV  owner; token; channel to publish on, or empty
-- answers {released, 1 if published} or {gone, what is there}
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then return {'gone', ''} end
local held = redis.call('GET', KEYS[1])
if held ~= ARGV[1] .. ' ' .. ARGV[2] then return {'gone', held:sub(1, 200)} end
redis.call('DEL', KEYS[1])
if ARGV[3] == '' then return {'released', 0} end
-- An ACL may forbid publishing: that must not make the release an error after the deed.
local published = redis.pcall('PUBLISH', ARGV[3], held)
return {'released', type(published) == 'number' and 1 or 0}
