-- Nothing here: SQLite has one process, whose statements are prepared once.
SELECT 1;
