import assert from 'node:assert/strict'
import test from 'node:test'
import { chartPlaceholder, type Insight } from '../insight.ts'
import { makeChart } from './chart-spec.ts'
import { insightPage } from './insight-page.ts'
import { guardSvg } from './svg-guard.ts'

const chart = makeChart('chart-1', [{ k: 'a', n: 1 }], {
  type: 'bar',
  x: 'k',
  y: ['n'],
  series: null,
  title: 'A <chart>',
})

function page(markdown: string, svgs: string[] = []): string {
  const insight = {
    insight_id: '0198',
    template_id: 't',
    template_version: 'v',
    title: 'A <b>title</b>',
    markdown,
    charts: [chart],
    created_at: '2024-01-01T00:00:00.000Z',
  } as unknown as Insight
  return insightPage(insight, svgs)
}

test('a page stands alone: no script, no address that is loaded, and a policy that says so', () => {
  const html = page(
    `Text <script>alert(1)</script> <img src=x onerror=y> ![p](https://evil.example/p.png) ![q](data:text/html,x)
[j](javascript:alert(1)) [d](data:text/html,x) [v](vbscript:x) [ok](https://a.example) [m](mailto:a@b.c)
<style>@import 'x'</style>\n\n<iframe src="https://x"></iframe>\n\n${chartPlaceholder('chart-1')}`,
    [
      '<svg><image href="https://evil.example/x"/><script>alert(1)</script><rect onload="x" width="1"/></svg>',
    ],
  )
  assert.match(
    html,
    /content="default-src 'none'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; form-action 'none'"/,
  )
  const body = html.slice(html.indexOf('<main>'))
  assert.ok(!/<(script|img|iframe|style|image|link|object|embed)\b/i.test(body), body)
  assert.ok(!/<[^>]+\son\w+=/i.test(body))
  assert.deepEqual(
    [...body.matchAll(/(?:href|src)="([^"]*)"/g)].map((match) => match[1]),
    ['https://evil.example/p.png', 'https://a.example', 'mailto:a@b.c'],
  )
  assert.match(body, /<rect width="1"\/>/)
})

test('the title is text, and stands over a text without a heading of its own', () => {
  assert.match(page('text'), /<title>A &#60;b&#62;title&#60;\/b&#62;<\/title>[\s\S]*<h1>A &#60;b/)
  assert.ok(!page('# Own').includes('<h1>A'))
})

test('charts stand where they belong, with their numbers; without a drawing as text', () => {
  const drawn = page(`a\n\n${chartPlaceholder('chart-1')}\n\nb`, ['<svg width="1"></svg>'])
  assert.match(
    drawn,
    /<p>a<\/p>\n<figure class="chart"><div role="img" aria-label="A &#60;chart&#62;"><svg width="1"><\/svg><\/div><figcaption>a: 1\.<\/figcaption><\/figure>\n\n<p>b<\/p>/,
  )
  assert.match(
    page(chartPlaceholder('chart-1')),
    /<figure class="chart"><pre tabindex="0">A &#60;chart&#62;\na █{40} 1<\/pre><\/figure>/,
  )
  assert.ok(!page(chartPlaceholder('chart-9')).includes('\u2063'))
})

test('cells are aligned by a class, since the policy forbids style attributes', () => {
  const html = page('| a | b |\n|---|--:|\n| 1 | 2 |')
  assert.match(html, /<td>1<\/td>\n<td class="right">2<\/td>/)
  assert.ok(!/<[^>]+\sstyle=/.test(html))
})

test('pictures inside the text are shown, others only linked', () => {
  const html = page('![dot](data:image/png;base64,iVBORw0KGgo=) ![far](http://x.example/a.png)')
  assert.match(html, /<img src="data:image\/png;base64,iVBORw0KGgo=" alt="dot">/)
  assert.match(html, /<a href="http:\/\/x\.example\/a\.png"[^>]*>far \(http:\/\/x\.example\/a\.png\)<\/a>/)
})

test('only drawing gets through the guard of SVG', () => {
  assert.equal(
    guardSvg(
      '<svg xmlns="s"><a xlink:href="javascript:x"><text style="x" fill="red">a > b</text></a></svg>',
      'c',
    ),
    '<svg xmlns="s"><text fill="red">a &gt; b</text></svg>',
  )
  assert.equal(guardSvg('<g><foreignObject><b onclick="x">t</b></foreignObject></g>', 'c'), '<g>t</g>')
  assert.equal(guardSvg('<path d="M0"', 'c'), '&lt;path d="M0"')
  assert.equal(
    guardSvg(
      '<clipPath id="clip0"></clipPath><g clip-path="url(#clip0)" fill="url(https://x)"></g>',
      'chart-1',
    ),
    '<clipPath id="chart-1-clip0"></clipPath><g clip-path="url(#chart-1-clip0)"></g>',
  )
})
