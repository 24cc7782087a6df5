import { describe, expect, test } from 'vitest'
import { buildForest, type TraceTree } from '../src/reading/trace-forest.ts'
import { SAMPLE_TURN, type SpanNote, storedSpans } from './reading/sample-turn.ts'
import fc, { ANY_CHARACTER } from './support/fast-check.ts'
import { script } from './support/pages.ts'

const { renderTreeSvg } = await script<{
  renderTreeSvg(tree: TraceTree, options?: { readonly width?: number; readonly maxRows?: number }): string
}>('tree-svg.mjs')

function treeOf(notes: readonly SpanNote[]): TraceTree {
  const [tree] = buildForest(storedSpans(...notes))
  if (tree === undefined) throw new Error('no tree')
  return tree
}

/** What a tag, and the text between tags, may look like. Anything else in the document is left over. */
const TAG = /<(\/?)([a-z]+)((?: [a-zA-Z][a-zA-Z:-]*="[^"<]*")*)(\/?)>/g

/** Throws unless every tag is closed in order and no text holds a bare `<`, `&` or a character that XML forbids. */
function expectWellFormed(xml: string): void {
  const open: string[] = []
  for (const [, closing, name, , empty] of xml.matchAll(TAG)) {
    if (closing === '/') expect(open.pop()).toBe(name)
    else if (empty !== '/') open.push(name ?? '')
  }
  expect(open).toEqual([])
  expect(xml.replace(TAG, '')).not.toMatch(/[<>]/)
  expect(xml.replace(/&(amp|lt|gt|quot|#39);/g, '')).not.toContain('&')
  expect(xml).not.toMatch(/[^\P{Cc}\n]|\p{Cs}|\p{Noncharacter_Code_Point}/u)
}

function numbers(xml: string, pattern: RegExp): number[] {
  return Array.from(xml.matchAll(pattern), ([, number]) => Number(number))
}

describe('the tree as a picture', () => {
  const svg = renderTreeSvg(treeOf(SAMPLE_TURN))

  test('shows every span with its figures', () => {
    expectWellFormed(svg)
    const texts = Array.from(svg.matchAll(/<tspan[^>]*>([^<]*)<\/tspan>/g), ([, text]) => text)
    for (const { name } of SAMPLE_TURN) expect(texts).toContain(name)
    for (const text of ['14.2 s', '1 840', '148', '429 RateLimitError', 'attempt 2']) expect(texts).toContain(text)
  })

  test('needs nothing from elsewhere and runs nothing', () => {
    expect(svg).not.toMatch(/script|href|url\(|@import|<style|<image|foreignObject/)
    expect(svg.match(/http[^"]*/g)).toEqual(['http://www.w3.org/2000/svg'])
  })

  test('is the same text every time', () => {
    expect(renderTreeSvg(treeOf([...SAMPLE_TURN].reverse()))).toBe(svg)
  })

  test('keeps the bars inside their column', () => {
    const [height] = numbers(svg, /^<svg [^>]*height="(\d+)"/g)
    for (const y of numbers(svg, / y="([\d.]+)"/g)) expect(y).toBeLessThan(height ?? 0)
    for (const x of numbers(svg, / c?x="([\d.]+)"/g)) expect(x).toBeLessThan(1080)
  })

  test('has the requested width', () => {
    expect(renderTreeSvg(treeOf(SAMPLE_TURN), { width: 800 })).toContain('viewBox="0 0 800 ')
  })

  test('counts the rows that it leaves out', () => {
    const short = renderTreeSvg(treeOf(SAMPLE_TURN), { maxRows: 3 })
    expectWellFormed(short)
    expect(short).toContain('… and 10 more')
    expect(short).not.toContain('tool.terminal')
  })

  test('survives deep trees', () => {
    const deep = Array.from({ length: 10_000 }, (_, index) => ({
      id: `s${index}`,
      ...(index > 0 && { parent: `s${index - 1}` }),
      name: `n${index}`,
      from: index,
      to: 10_000,
    }))
    const drawn = renderTreeSvg(treeOf(deep), { maxRows: Number.POSITIVE_INFINITY })
    expect(drawn).toContain('n9999')
  })

  test('stays well-formed whatever the spans are called', () => {
    const text = fc.oneof(
      fc.string({ unit: ANY_CHARACTER }),
      fc.constantFrom(']]>', '<!--', '<script>', '&#0;', '"onload="', "'"),
    )
    fc.assert(
      fc.property(text, text, text, (name, command, session) => {
        const attributes = { 'hermes.span.kind': 'tool', 'hermes.tool.command': command, 'session.id': session }
        expectWellFormed(renderTreeSvg(treeOf([{ id: '1', name, from: 0, to: 1, attributes }])))
      }),
    )
  })
})
