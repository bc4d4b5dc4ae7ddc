import { HOSTILE_TEXTS } from '../hostile/hostile-texts.ts'

/** The texts, each as its bytes, because a template cannot hold all of them as they are. */
const ROWS = HOSTILE_TEXTS.map((text, index) => {
  const bytes = Buffer.from(text.toWellFormed()).toString('base64')
  return `union all select decode(from_base64('${bytes}')), ${index + 4}\n`
}).join('')

/** A template that prints what a page must not accept from data: scripts, event handlers, script links, tracking pictures. */
export const HOSTILE = `---
title: "<img src=x onerror='ran=1'> hostile"
description: "<script>ran=1</script>"
---

\`\`\`sql evil
select '<script>ran=1</script>' as "<b onclick=ran=1>name</b>", 1 as n
union all select '[click](javascript:ran=1) ![p](http://127.0.0.1:9/p.png)', 2
union all select '<img src=http://127.0.0.1:9/x.png onerror=ran=1>', 3
${ROWS}\`\`\`

# Hostile <script>ran=1</script>

<script>globalThis.ran = 1</script>
<img src="x" onerror="globalThis.ran = 1">
<svg onload="globalThis.ran = 1"><a href="javascript:ran=1">in svg</a></svg>
<iframe src="javascript:parent.ran=1"></iframe>
<style>body { display: none }</style>
<form action="http://127.0.0.1:9/"><input name="a"></form>

[script](javascript:globalThis.ran=1) [JaVa](JaVaScRiPt:ran=1) [spaced](&#106;avascript:ran=1) [data](data:text/html,<script>ran=1</script>)
[vb](vbscript:ran=1) <javascript:ran=1> [reference][r]

[r]: javascript:ran=1

![remote](http://127.0.0.1:9/tracker.png) ![protocol](//127.0.0.1:9/t.png) ![svg](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9InJhbj0xIi8+)
![none](chart:nothing) ![path](chart:../../x)

\`\`\`html
<script>ran = 1</script>
\`\`\`

{% assign raw = "<img src=x onerror=ran=1>" %}{{ raw | raw }}

{% chart evil, type: "bar", x: "<b onclick=ran=1>name</b>", y: "n", title: "<script>ran=1</script>" %}

{% table evil, limit: 100 %}

The end of the hostile text.
`
