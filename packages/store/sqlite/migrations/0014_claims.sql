-- Nothing here: an update writes only the indexes whose columns change, and a check of a foreign key is a look into a page.
SELECT 1;
