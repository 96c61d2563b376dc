-- The time of this server. What is called `now` from here on is that of the books.
local server = now

