/**
 * The forms of queries that read, one or more for each page on queries, expressions and functions of DuckDB's
 * documentation (https://duckdb.org/docs/stable/sql/introduction), over the sources of grammar.ts. All must pass the
 * guard and run.
 */
export const FORMS: Record<string, readonly string[]> = {
  'SELECT clause': [
    'select * exclude (tags) from flights',
    'select * replace (delay / 60 as delay) from flights',
    'select * rename (delay as minutes) from flights',
    "select columns('d.*') from flights",
    'select min(columns(*)) from flights',
    "select columns(c -> c like 'd%') from flights",
    'select distinct on (origin) origin, delay from flights order by delay desc',
    "select * like 'o%' from flights",
  ],
  'FROM and JOIN': [
    'from flights',
    'from flights select origin, delay',
    'select f.*, a.city from flights f join "Airports" a on f.origin = a.code',
    'select * from flights semi join Airports on origin = code',
    'select * from flights anti join Airports on origin = code',
    'select * from flights positional join Airports',
    'select * from flights asof join (select day, id as n from flights) q using (day)',
    'select * from range(3) t(i), lateral (select i + 1 as j) t2',
    'select * from flights natural join (select 1 as id) one',
    "select * from (values (1, 'a'), (2, 'b')) v(n, t)",
    'select * from flights cross join Airports',
  ],
  'WHERE, GROUP BY, HAVING, QUALIFY, ORDER BY, LIMIT': [
    "select origin, count(*) from flights where delay > 1 and day >= date '2024-01-01' group by all order by all",
    'select origin, avg(delay) from flights group by grouping sets ((origin), ()) having count(*) > 0',
    'select origin, day, sum(delay) from flights group by rollup (origin, day)',
    'select origin, grouping(origin) from flights group by cube (origin)',
    'select * from flights qualify row_number() over (partition by origin order by delay) = 1',
    'select * from flights order by delay desc nulls last limit 10 offset 1',
    'select * from flights order by id limit 50%',
  ],
  'WITH and set operations': [
    'with late as (select * from flights where delay > 1) select count(*) from late',
    'with late as materialized (from flights) from late union all by name from late',
    'with recursive n as (select 1 as i union all select i + 1 from n where i < 5) select sum(i) from n',
    'select id from flights except select 1',
    'select id from flights intersect all select id from flights',
  ],
  'WINDOW, PIVOT, UNPIVOT': [
    'select avg(delay) over w from flights window w as (order by day range between interval 2 days preceding and current row)',
    'select lag(delay, 1, 0) over (order by day), ntile(4) over (order by day), first_value(delay ignore nulls) over (order by day) from flights',
    "from flights pivot (sum(delay) for origin in ('a', 'b') group by day)",
    'from flights unpivot (value for name in (id, delay))',
    'from (select id, delay from flights) unpivot include nulls (value for name in (columns(*)))',
  ],
  Expressions: [
    "select case origin when 'a' then 1 else 2 end, delay::integer, try_cast(origin as integer), cast(day as timestamp) from flights",
    "select origin collate nocase = 'A', delay between 1 and 2, origin in ('a'), origin not in (select code from Airports) from flights",
    'select exists (select 1 from Airports where code = origin), (select max(city) from Airports) from flights',
    "select origin like 'a%', origin ilike 'A', origin similar to '[a-c]', regexp_matches(origin, 'a'), origin ^@ 'a' from flights",
    "select 2 ** 3, 5 // 2, 5 % 2, 6 & 3, 1 << 2, 'a' || 'b', -1, not true, 1 is distinct from null",
    'select try(1 / 0), coalesce(null, 1), nullif(1, 2), greatest(1, 2), least(1, 2)',
  ],
  'Nested types': [
    "select [1, 2, 3][1], [1, 2, 3][1:2], {'a': 1, 'b': 'x'}.a, map {'k': 1}['k'], tags[1] from flights",
    'select list_transform(tags, lambda x: x + 1), list_filter([1, 2], lambda x: x > 1), list_reduce([1, 2], lambda a, b: a + b) from flights',
    'select [x * 2 for x in [1, 2, 3] if x > 1], unnest([1, 2]), unnest(tags) from flights',
    "select list_aggregate([1, 2], 'sum'), list_sort([2, 1]), list_distinct([1, 1]), flatten([[1], [2]]), array_agg(id) from flights",
    "select struct_pack(a := 1), struct_extract({'a': 1}, 'a'), row(1, 2), map_keys(map {'a': 1}), union_value(n := 1)",
  ],
  Text: [
    "select upper(origin), substring(origin, 1, 1), origin[1], strpos('ab', 'b'), lpad('a', 3, '0'), split_part('a-b', '-', 2), format('{} {}', 1, 'a'), printf('%d', 1) from flights",
    "select regexp_extract('a1', '(\\d)', 1), regexp_replace('a', 'a', 'b', 'g'), string_split('a,b', ','), concat_ws('-', 'a', 'b'), levenshtein('a', 'b'), strip_accents('é'), md5('a'), sha256('a')",
    "select string_agg(origin, ', ' order by origin), listagg(origin, '') from flights",
  ],
  'Dates and times': [
    "select date_trunc('month', day), extract(year from day), date_part('dow', day), day + interval 1 month, date_diff('day', day, date '2024-06-01'), strftime(day, '%Y-%m'), last_day(day) from flights",
    "select strptime('2024-01-31', '%Y-%m-%d'), make_date(2024, 1, 31), epoch(timestamp '2024-01-01'), to_timestamp(0), time_bucket(interval '7 days', day), timestamptz '2024-01-01 00:00:00+00' at time zone 'Europe/Berlin', age(date '2024-02-01', date '2024-01-01') from flights",
    "select * from generate_series(date '2024-01-01', date '2024-01-05', interval 1 day) s(d)",
  ],
  'Aggregates and numbers': [
    'select count(distinct origin), sum(delay) filter (where delay > 1), median(delay), quantile_cont(delay, [0.1, 0.9]), mode(origin), stddev(delay), corr(delay, id), regr_slope(delay, id), arg_max(origin, delay), approx_count_distinct(id), histogram(origin) from flights',
    'select round(1.25, 1), floor(1.5), abs(-1), ln(2), sqrt(4), pi(), mod(5, 3), bit_count(3), width.n from (select 1 as n) width',
    'select covar_pop(delay, id), entropy(origin), kurtosis(delay), skewness(delay), mad(delay), bool_and(delay > 0), first(origin order by day), max(delay, 2) from flights',
  ],
  JSON: [
    `select '{"a": [1, 2]}'::json -> 'a', '{"a": 1}'::json ->> '$.a', json_extract_string('{"a": 1}', '$.a'), json_array_length('[1]'), json_keys('{"a": 1}'), to_json({'a': 1}), json_valid('{')`,
    `select from_json('{"a": 1, "b": [{"c": 2}]}', '{"a": "integer", "b": [{"c": "decimal(10,2)"}]}'), json_transform('{"a": 1}', '{"a": "BIGINT"}')`,
    `select key, value from json_each('{"a": 1}')`,
  ],
  Types: [
    "select 1::hugeint, 'a'::blob, '1'::decimal(10, 2), '{}'::json, 'true'::boolean, '550e8400-e29b-41d4-a716-446655440000'::uuid, '101'::bit, 'a'::enum('a', 'b'), [1]::integer[1], {'a': 1}::struct(a bigint), map {'a': 1}::map(varchar, double)",
  ],
}
