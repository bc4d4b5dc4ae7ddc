/** Situations of the methods that compare groups and find what goes together. */
import { MEASURES, NOISE, rows, type Situation } from './situation.ts'

const each = (make: (measure: (typeof MEASURES)[number]) => Situation[]): Situation[] =>
  MEASURES.flatMap(make)
const shop = `case i % 2 when 0 then 'Kiel' else 'Ulm' end as shop`
const between = { value: 'orders', group: 'shop' }

export const overRelations: Situation[] = [
  {
    is: 'two numbers that rise together',
    method: 'association',
    options: { x: 'price', y: 'orders' },
    sql: rows(`i % 50 as price, 2 * (i % 50) + 20 * ${NOISE} as orders`, 200),
  },
  {
    is: 'two numbers without a relation',
    method: 'association',
    options: { x: 'price', y: 'orders' },
    sql: rows(`i % 50 as price, 20 * ${NOISE} as orders`, 200),
  },
  {
    is: 'two texts that go together',
    method: 'association',
    options: { x: 'shop', y: 'size' },
    sql: rows(
      `case i % 2 when 0 then 'Kiel' else 'Ulm' end as shop, case when i % 10 < 2 + 6 * (i % 2) then 'small' else 'large' end as size`,
      400,
    ),
  },
  {
    is: 'two texts without a relation',
    method: 'association',
    options: { x: 'shop', y: 'size' },
    sql: rows(
      `case i % 2 when 0 then 'Kiel' else 'Ulm' end as shop, case when (i // 2) % 3 = 0 then 'small' else 'large' end as size`,
      400,
    ),
  },
  {
    is: 'two flags that are numbers',
    method: 'association',
    options: { x: 'member', y: 'returned', as: 'categories' },
    sql: rows(
      `cast(i % 2 as double) as member, cast((i % 10 < 2 + 6 * (i % 2))::int as double) as returned`,
      400,
    ),
  },
  {
    is: 'a text and a number',
    method: 'association',
    options: { x: 'shop', y: 'orders' },
    sql: rows(
      `case i % 2 when 0 then 'Kiel' else 'Ulm' end as shop, 10 * (i % 2) + 5 * ${NOISE} as orders`,
      200,
    ),
  },
  {
    is: 'one value throughout',
    method: 'association',
    options: { x: 'price', y: 'orders' },
    sql: rows('i as price, 5 as orders', 50),
  },
  {
    is: 'three numbers, two of them together',
    method: 'correlation',
    options: { values: ['price', 'orders', 'noise'] },
    sql: rows(`i % 50 as price, 2 * (i % 50) + 20 * ${NOISE} as orders, ((i * 31) % 17) as noise`, 200),
  },
  {
    is: 'two numbers of which one falls',
    method: 'correlation',
    options: { values: ['price', 'orders'] },
    sql: rows(`i % 50 as price, -2 * (i % 50) + 20 * ${NOISE} as orders`, 200),
  },
  {
    is: 'three rows',
    method: 'correlation',
    options: { values: ['price', 'orders'] },
    sql: rows('i as price, i * i as orders', 3),
  },
  ...each(({ name, scale, columns }) => [
    {
      is: 'a line',
      method: 'regression',
      options: { y: name, x: ['price'] },
      columns,
      sql: rows(
        `((i * 31) % 53) as price, ${scale} * (1 + ((i * 31) % 53) / 50.0 + ${NOISE}) as ${name}`,
        200,
      ),
    },
  ]),
  {
    is: 'no relation',
    method: 'regression',
    options: { y: 'orders', x: ['price'] },
    sql: rows(`((i * 31) % 53) as price, 10 * ${NOISE} as orders`, 200),
  },
  {
    is: 'a curve taken for a line',
    method: 'regression',
    options: { y: 'orders', x: ['price'] },
    sql: rows(`((i * 31) % 53) as price, pow((i * 31) % 53, 2) + 10 * ${NOISE} as orders`, 200),
  },
  {
    is: 'two columns that say the same',
    method: 'regression',
    options: { y: 'orders', x: ['price', 'cost'] },
    sql: rows(
      `((i * 31) % 53) as price, ((i * 31) % 53) + 0.01 * ${NOISE} as cost, ((i * 31) % 53) + 10 * (((i * 7907) % 997) / 997.0) as orders`,
      200,
    ),
  },
  {
    is: 'two rows',
    method: 'regression',
    options: { y: 'orders', x: ['price'] },
    sql: rows('i as price, i as orders', 2),
  },
  {
    is: 'three groups of which one is higher',
    method: 'anova',
    options: { value: 'orders', by: 'shop' },
    sql: rows(
      `case i % 3 when 0 then 'Kiel' when 1 then 'Ulm' else 'Jena' end as shop, 10 + ${NOISE} * 4 + 3 * (i % 3 = 2)::int as orders`,
      150,
    ),
  },
  {
    is: 'three groups alike',
    method: 'anova',
    options: { value: 'orders', by: 'shop' },
    sql: rows(
      `case i % 3 when 0 then 'Kiel' when 1 then 'Ulm' else 'Jena' end as shop, 10 + ${NOISE} * 4 as orders`,
      150,
    ),
  },
  {
    is: 'groups of one row',
    method: 'anova',
    options: { value: 'orders', by: 'shop' },
    sql: rows(`'shop ' || i as shop, i as orders`, 3),
  },
  {
    is: 'two shops, one higher',
    method: 'compare_groups',
    options: between,
    sql: rows(`${shop}, 10 + 3 * ${NOISE} + i % 2 as orders`, 200),
  },
  {
    is: 'two shops, one higher and far wider',
    method: 'compare_groups',
    options: between,
    sql: rows(`${shop}, 10 + case when i % 2 = 0 then 1 else 9 end * ${NOISE} + 2 * (i % 2) as orders`, 200),
  },
  {
    is: 'two shops with a long tail, one higher',
    method: 'compare_groups',
    options: between,
    sql: rows(`${shop}, exp(6 * ${NOISE} + i % 2) as orders`, 200),
  },
  {
    is: 'which shop varies more',
    method: 'compare_groups',
    options: { ...between, what: 'spread' },
    sql: rows(`${shop}, 10 + (1 + 4 * (i % 2)) * ${NOISE} as orders`, 200),
  },
  {
    is: 'the whole distribution of two shops',
    method: 'compare_groups',
    options: { ...between, what: 'distribution' },
    sql: rows(`${shop}, 10 + ${NOISE} + 0.6 * (i % 2) as orders`, 200),
  },
  {
    is: 'the same customers before and after',
    method: 'compare_groups',
    options: { value: 'orders', group: 'part', paired: 'customer_id' },
    sql: rows(
      `i // 2 as customer_id, case i % 2 when 0 then 'before' else 'after' end as part, (i // 2) % 17 + 2 * (i % 2) + ${NOISE} as orders`,
      120,
    ),
  },
  {
    is: 'rows without a shop',
    method: 'compare_groups',
    options: between,
    sql: rows(
      `case when i % 9 = 0 then null when i % 2 = 0 then 'Kiel' else 'Ulm' end as shop, 10 + 3 * ${NOISE} as orders`,
      200,
    ),
  },
  {
    is: 'whole numbers of a few values',
    method: 'association',
    options: { x: 'region', y: 'orders' },
    sql: rows(`1 + i % 4 as region, 10 + 2 * (i % 4) + 5 * ${NOISE} as orders`, 200),
  },
  {
    is: 'two numbers with a third held equal',
    method: 'association',
    options: { x: 'price', y: 'orders', controls: ['size'] },
    sql: rows(
      `i % 50 as size, (i % 50) + 9 * ${NOISE} as price, 2 * (i % 50) + 20 * (((i * 31) % 97) / 97.0) as orders`,
      200,
    ),
  },
  {
    is: 'two texts within the values of a third',
    method: 'association',
    options: { x: 'shop', y: 'size', strata: 'season' },
    sql: rows(
      `${shop}, case when i % 10 < 2 + 6 * (i % 2) then 'small' else 'large' end as size, ['winter', 'summer'][1 + (i // 10) % 2] as season`,
      400,
    ),
  },
  {
    is: 'true or false by a number',
    method: 'regression',
    options: { y: 'paid', x: ['price'], family: 'logistic' },
    sql: rows(
      `(i * 31) % 53 as price, ((i * 7907) % 997) / 997.0 < 0.2 + ((i * 31) % 53) / 100.0 as paid`,
      300,
    ),
  },
  {
    is: 'true or false, parted by a number without an error',
    method: 'regression',
    options: { y: 'paid', x: ['price'], family: 'logistic' },
    sql: rows(`(i * 31) % 53 as price, (i * 31) % 53 > 20 as paid`, 300),
  },
  {
    is: 'counts by a number',
    method: 'regression',
    options: { y: 'orders', x: ['price'], family: 'poisson' },
    sql: rows(`(i * 31) % 53 as price, 9 - ((i * 31) % 53) // 9 + (i * 7907) % 4 as orders`, 300),
  },
  {
    is: 'a line over a unit',
    method: 'regression',
    options: { y: 'mass', x: ['flipper'] },
    columns: { mass: { label: 'body mass', unit: 'g' }, flipper: { label: 'flipper length', unit: 'mm' } },
    sql: rows(`180 + (i * 31) % 53 as flipper, 3000 + 50 * ((i * 31) % 53) + 400 * ${NOISE} as mass`, 200),
  },
  {
    is: 'two rows against two',
    method: 'compare_groups',
    options: between,
    sql: rows(`${shop}, 10 * (i % 2) + i as orders`, 4),
  },
  {
    is: 'the same by ranks',
    method: 'compare_groups',
    options: { ...between, test: 'mann_whitney' },
    sql: rows(`${shop}, 10 * (i % 2) + i as orders`, 4),
  },
  {
    is: 'two rows against two of which one group never varies',
    method: 'compare_groups',
    options: between,
    sql: rows(`${shop}, if(i % 2 = 1, 10, i) as orders`, 4),
  },
  {
    is: 'two rows against two as distributions',
    method: 'compare_groups',
    options: { ...between, what: 'distribution' },
    sql: rows(`${shop}, 10 * (i % 2) + i as orders`, 4),
  },
  {
    is: 'three customers in each of two shops',
    method: 'compare_groups',
    options: { ...between, paired: 'customer' },
    sql: rows(`${shop}, i // 2 as customer, 10 * (i % 2) + i as orders`, 6),
  },
  {
    is: 'a line over a share, told by a tenth',
    method: 'regression',
    options: { y: 'orders', x: ['discount'] },
    sql: rows(
      `((i * 31) % 53) / 100.0 as discount, 40 + 50 * ((i * 31) % 53) / 100.0 + 10 * ${NOISE} as orders`,
      200,
    ),
  },
  {
    is: 'a line over thousands, told by a thousand',
    method: 'regression',
    options: { y: 'orders', x: ['budget'] },
    columns: { budget: { unit: 'EUR' } },
    sql: rows(`20000 + 150 * ((i * 31) % 53) as budget, 40 + ((i * 31) % 53) + 10 * ${NOISE} as orders`, 200),
  },
  {
    is: 'a line over whole numbers of one and two',
    method: 'regression',
    options: { y: 'orders', x: ['rooms'] },
    sql: rows(`1 + i % 2 as rooms, 40 + 9 * (i % 2) + 10 * ${NOISE} as orders`, 200),
  },
  {
    is: 'nothing else goes with it',
    method: 'correlation',
    options: { values: ['price', 'orders', 'visits'] },
    sql: rows(`((i * 31) % 53) as price, ((i * 7907) % 997) as orders, ((i * 613) % 89) as visits`, 200),
  },
  {
    is: 'three numbers that all go together',
    method: 'correlation',
    options: { values: ['price', 'orders', 'visits'] },
    sql: rows(
      `i % 50 as price, 2 * (i % 50) + 20 * ${NOISE} as orders, 3 * (i % 50) + 40 * (((i * 31) % 97) / 97.0) as visits`,
      200,
    ),
  },
  {
    is: 'values that look uniform',
    method: 'normality',
    options: { value: 'orders', distribution: 'uniform' },
    sql: rows(`((i * 7907) % 997) / 997.0 as orders`, 200),
  },
  {
    is: 'waiting times',
    method: 'normality',
    options: { value: 'orders', distribution: 'exponential' },
    sql: rows(`-ln((i + 0.5) / 200.0) as orders`, 200),
  },
]
