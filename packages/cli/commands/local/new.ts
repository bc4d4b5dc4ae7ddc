/** assay new: starts a template that already runs. */
import { writeFile } from 'node:fs/promises'
import { TEMPLATE_ID } from '@assay/model/template'
import type { Command } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { out, say } from '../../print.ts'

/** Returns a template over the shipped data, so that it runs before its first change. */
function starter(title: string): string {
  return `---
title: ${title}, {{ vars.period.label }}
description: What this report answers, in one sentence.
tags: [example]
variables:
  period: { type: period, default: 2015-01-01..2015-12-31, description: The days to report on }
  top: { type: integer, default: 5, min: 1, max: 50, description: How many days to list }
sources:
  weather: { file: sample/seattle-weather.csv }
---

\`\`\`sql daily
select date, temp_max, precipitation
from weather
where date >= $period.start and date < $period.end
order by date
\`\`\`

\`\`\`analysis spread
method: describe
of: daily
value: temp_max
\`\`\`

\`\`\`sql wettest
select date, precipitation from daily order by precipitation desc, date
\`\`\`

# ${title}, {{ vars.period.label }}

{{ spread.summary }}

{% chart daily, type: "line", x: "date", y: "temp_max", title: "Highest temperature of each day, in degrees Celsius" %}

The wettest days:

{% table wettest, limit: vars.top, fmt: { precipitation: "num1" } %}
`
}

export const NEW: Command = {
  name: 'new',
  operands: 'NAME',
  summary: 'Start a template: NAME.md, ready to run',
  options: {},
  async run(call) {
    const id = call.operands[0]!.replace(/\.md$/, '')
    if (!new RegExp(TEMPLATE_ID).test(id))
      throw new UsageError(`${JSON.stringify(id)} cannot be the name of a template: use a-z, 0-9, - and _.`)
    const file = `${id}.md`
    const words = id.replaceAll(/[-_]+/g, ' ')
    const title = words[0]!.toUpperCase() + words.slice(1)
    await writeFile(file, starter(title), { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw new ExitError(EXIT.refused, `${file} is there already.`)
      throw error
    })
    out(`${file}\n`)
    say(`Run it:  assay run ${file}     Check it:  assay check ${file}`)
    return EXIT.ok
  },
}
