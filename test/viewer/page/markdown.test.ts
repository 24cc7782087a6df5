import { expect, test } from 'vitest'

// The page has its own compiler options. The paths are not literals, so that these of the tests do not apply to it.
const PAGE = '../../../src/viewer/page'
const { Code } = (await import(`${PAGE}/highlight.tsx`)) as { Code(props: { text: string }): unknown }
const { Markdown } = (await import(`${PAGE}/markdown.tsx`)) as { Markdown(props: { text: string }): unknown }

interface Rendered {
  readonly text: string
  readonly elements: readonly string[]
  readonly attributes: readonly string[]
}

/** A node of Preact, whose own types would bring those of the browser into every test. */
interface AnyNode {
  readonly type: string | ((props: unknown) => unknown)
  readonly props: Readonly<Record<string, unknown>>
}

/** The text, the elements and the attributes that a node becomes in the page. */
function rendered(node: unknown): Rendered {
  if (Array.isArray(node)) {
    const parts = node.map(rendered)
    return {
      text: parts.map(({ text }) => text).join(''),
      elements: parts.flatMap(({ elements }) => elements),
      attributes: parts.flatMap(({ attributes }) => attributes),
    }
  }
  if (typeof node !== 'object' || node === null) return { text: String(node ?? ''), elements: [], attributes: [] }
  const { type, props } = node as AnyNode
  if (typeof type === 'function') return rendered(type(props))
  const inner = rendered(props['children'] ?? '')
  const attributes = Object.keys(props).filter(name => name !== 'children')
  return { text: inner.text, elements: [type, ...inner.elements], attributes: [...attributes, ...inner.attributes] }
}

function markdown(text: string): Rendered {
  return rendered(Markdown({ text }))
}

test('renders paragraphs, lists, code, tables and emphasis', () => {
  const { elements, text } = markdown(
    '# Why\n\nIt is **not `x`** but *y*.\n\n- one\n  1. two\n\n```ts\nconst a = 1\n```\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 22 |\n\n---',
  )
  for (const name of ['p', 'strong', 'code', 'em', 'ul', 'li', 'pre', 'blockquote', 'hr'])
    expect(elements).toContain(name)
  expect(text).toContain('It is not x but y.')
  expect(text).toContain('const a = 1')
  expect(text).toContain('| a | b |\n|---|---|\n| 1 | 22 |')
})

test('shows the target of a link and of an image as text', () => {
  const { text, elements } = markdown('See [the docs](https://evil.example/a) and ![x](http://evil.example/x.png).')
  expect(text).toBe('See the docs (https://evil.example/a) and x (http://evil.example/x.png).')
  expect(elements).toEqual(['div', 'p'])
})

test('makes no element, attribute or hidden character of hostile text', () => {
  const evil =
    '<script>evil()</script><img src=x onerror=evil()> [a](javascript:evil()) <a href="x">\u202e **<b onclick=x>**\n```html"><script>\n<svg onload=evil()>'
  const { text, elements, attributes } = markdown(evil)
  expect(elements.filter(name => !['div', 'p', 'strong', 'pre', 'code', 'span'].includes(name))).toEqual([])
  expect(attributes.filter(name => name !== 'class')).toEqual([])
  expect(text).toContain('<script>evil()</script>')
  expect(text).toContain('[a](javascript:evil())')
  expect(text).toContain('"><script>')
  expect(text).toContain('⟨U+202E⟩')
})

test.each(['*', '**', '`', '[', '![](', '> ', '- ', '```\n', '| ', '~~a', '__', '"', "'", '/*', '\\"', '1e', '#'])(
  'renders a long text of %j',
  piece => {
    const text = piece.repeat(Math.ceil(20_000 / piece.length))
    // A pattern that backtracks would not end before the limit of a test.
    expect(markdown(text).elements[0]).toBe('div')
    expect(rendered(Code({ text })).text).toBe(text)
  },
)

test('keeps all text of highlighted code', () => {
  const code = 'const a = { "key": \'it\', n: 0x1f, u: "https://a.b" } // why\n# not {} a comment\n`t {x}`'
  expect(rendered(Code({ text: code })).text).toBe(code)
  expect(rendered(Code({ text: '{"a": 1}' })).elements).toEqual(['pre', 'code', 'span', 'span'])
})
