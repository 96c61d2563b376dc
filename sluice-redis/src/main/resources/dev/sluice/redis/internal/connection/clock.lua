-- What every script begins with: the time of this server, in microseconds.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

