-- Nothing here: SQLite asks no statistics, and has the deliveries that wait in the order of its index.
SELECT 1;
