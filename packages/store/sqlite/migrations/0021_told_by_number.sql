-- Nothing but its number: versions that know no migration beyond 0020 look at the newest number alone, and are to refuse to
-- start on what 0012 to 0019 made, which came after it.
SELECT 1;
