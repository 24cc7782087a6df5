/** Traces that leave for somebody else: as a page, and as lines. */
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { exportCsv } from '../../src/reading/export-csv.ts'
import { escapeHtml, exportHtml } from '../../src/reading/export-html.ts'
import { exportOtlp } from '../../src/reading/export-otlp.ts'
import { sharedContent, sharedContentLines } from '../../src/reading/shared-content.ts'
import { readExportLine } from '../../src/reading/stored-span.ts'
import { buildForest, type TraceTree } from '../../src/reading/trace-forest.ts'
import fc, { ANY_CHARACTER } from '../support/fast-check.ts'
import { exportLine, noteLine, SAMPLE_TURN, type SpanNote, storedSpans, TURN_AT } from './sample-turn.ts'

function forest(...notes: readonly SpanNote[]): TraceTree[] {
  return buildForest(storedSpans(...notes))
}

function page(...notes: readonly SpanNote[]): string {
  return [...exportHtml(forest(...notes), TURN_AT + 60_000)].join('')
}

test('writes no character to a CSV row that acts on a terminal or writes backwards, not in its ids either', () => {
  const evil = 'a\u001b[31m\u202eb\u0007'
  const rows = [...exportCsv(forest({ id: evil, parent: `p${evil}`, trace: `t${evil}`, name: evil, from: 0, to: 1 }))]
  expect(rows.join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  expect(rows[1]?.split(',').slice(0, 3)).toEqual(['tab', 'ab', 'pab'])
})

/** Names of elements and attributes of a page; its text is none of them, for that has no angle brackets left. */
function marks(html: string): { elements: Set<string>; attributes: Set<string> } {
  const tags = [...html.replace(/<style>[^<]*<\/style>/, '').matchAll(/<\/?([a-z0-9]+)((?:[^"<>]|"[^"]*")*)>/g)]
  const attributes = tags.flatMap(([, , rest = '']) =>
    [...rest.matchAll(/([a-zA-Z-]+)="/g)].map(([, name = '']) => name),
  )
  return { elements: new Set(tags.map(([, name = '']) => name)), attributes: new Set(attributes) }
}

const ELEMENTS = 'body dd details div dl dt h1 h2 head html li meta p pre rect section span summary svg title ul'
const ATTRIBUTES =
  'aria-hidden charset class content height http-equiv id lang name preserveAspectRatio viewBox width x y'

describe('a page', () => {
  test('starts with a policy that allows only its own style', () => {
    const html = page(...SAMPLE_TURN)
    const [, style = ''] = /<style>([^<]*)<\/style>/.exec(html) ?? []
    const hash = createHash('sha256').update(style).digest('base64')
    const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`
    expect(html).toMatch(
      /^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-/,
    )
    expect(html).toContain(`content="${policy}"`)
    expect(style).not.toMatch(/url\(|@import|expression/i)
  })

  test('consists of these elements and attributes: no script, no address, no style of an element', () => {
    const { elements, attributes } = marks(page(...SAMPLE_TURN))
    expect([...elements].sort().join(' ')).toBe(ELEMENTS)
    expect([...attributes].sort().join(' ')).toBe(ATTRIBUTES)
  })

  test('has question, work, and all stored data', () => {
    const html = page(...SAMPLE_TURN)
    expect(html).toContain('<span class="tool">tool.terminal</span>')
    expect(html).toContain('<dt>hermes.tool.command</dt><dd><pre>rm -rf ./build</pre></dd>')
    expect(html).toContain('<p>Critical path: model 5.8 s, you 5.5 s, tools 340 ms, untraced 2.4 s</p>')
    expect(html.match(/<details class="span"/g)).toHaveLength(SAMPLE_TURN.length)
  })

  const hostile = fc.oneof(
    fc.string({ unit: ANY_CHARACTER }),
    fc.constantFrom(
      '<script>alert(1)</script>',
      '"><img src=x onerror=alert(1)>',
      "' onmouseover='x",
      '</pre></details><iframe src="//evil">',
      '</style><style>*{}',
      '</title><base href="//evil">',
      '\u202e<b>',
      '&lt;script&gt;',
      '-->',
    ),
  )

  test('stays a page, whatever the spans contain', () => {
    const note = fc.record({
      id: hostile.filter(id => /[^0]/.test(id)),
      name: hostile,
      message: hostile,
      from: fc.nat(1e6),
      to: fc.nat(1e6),
      attributes: fc
        .tuple(hostile, hostile, hostile)
        .map(([key, value, session]) => ({ [key]: value, 'input.value': value, 'session.id': session })),
    })
    fc.assert(
      fc.property(fc.array(note, { minLength: 1, maxLength: 4 }), notes => {
        const html = page(...notes.map(each => ({ ...each, status: 2 as const })))
        const { elements, attributes } = marks(html)
        expect(ELEMENTS.split(' ')).toEqual(expect.arrayContaining([...elements]))
        expect(ATTRIBUTES.split(' ')).toEqual(expect.arrayContaining([...attributes]))
        expect(html).not.toMatch(/[^\P{Cc}\n\t]|\p{Cf}|\p{Cs}/u)
        // Every angle bracket belongs to a tag that is known.
        const text = html
          .replace(/<style>[^<]*<\/style>/, '')
          .replace(/<!doctype html>|<\/?[a-z0-9]+(?:[^"<>]|"[^"]*")*>/g, '')
        expect(text).not.toMatch(/[<>]/)
      }),
    )
  })

  test('shows an invisible character by its number', () => {
    expect(escapeHtml('a\u202eb\u200bc\u0007\u001b[31m<&">')).toBe(
      'a\\u{202e}b\\u{200b}c\\u{7}\\u{1b}[31m&lt;&amp;&quot;&gt;',
    )
    expect(escapeHtml('one\n\ttwo')).toBe('one\n\ttwo')
  })

  test('has the beginning of very long values, and every span of very deep traces', () => {
    const long: SpanNote = {
      id: 'a',
      name: 'agent',
      from: 0,
      to: 9,
      attributes: { 'output.value': 'x'.repeat(200_000) },
    }
    expect(page(long)).toContain('\n… truncated: 200 000 characters in total')
    const deep = Array.from({ length: 3_000 }, (_, index): SpanNote => {
      return { id: `d${index}`, ...(index > 0 && { parent: `d${index - 1}` }), name: 'x', from: index, to: 9_000 }
    })
    expect(page(...deep).match(/<details class="span"/g)).toHaveLength(3_000)
  })
})

describe('the preview of an export', () => {
  test('lists masked and truncated values', () => {
    const notes: SpanNote[] = [
      {
        id: 'a',
        name: 'agent',
        from: 0,
        to: 9,
        attributes: { 'input.value': `key [REDACTED] and [REDACTED] ${'x'.repeat(50)}` },
      },
      {
        id: 'b',
        name: 'tool.x',
        from: 0,
        to: 9,
        attributes: { 'hermes.content.truncated': true, 'output.value': 'the end…' },
      },
    ]
    expect([...sharedContentLines(sharedContent(forest(...notes)))]).toEqual([
      '2 spans, 1 text with 80 characters in total',
      'secrets were masked in 1 value:',
      '  agent  input.value  ×2',
      '2 values truncated when recorded:',
      '  tool.x',
      '  tool.x  output.value',
    ])
    expect(page(...notes)).toContain('<li>secrets were masked in 1 value:</li>\n<li>agent  input.value  ×2</li>')
  })

  test('reports that nothing was masked, which proves nothing', () => {
    const [, masked] = sharedContentLines(sharedContent(forest(...SAMPLE_TURN)))
    expect(masked).toBe('no secret was masked: there was none, or none was recognised')
  })

  test('is no longer than a screen', () => {
    const attributes = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`a${index}`, '[REDACTED]']))
    const lines = [...sharedContentLines(sharedContent(forest({ id: 'a', name: 'agent', from: 0, to: 1, attributes })))]
    expect(lines).toHaveLength(24)
    expect(lines).toContain('  … and 480 more')
  })
})

describe('OTLP lines', () => {
  let directory = ''
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hookspan-export-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  async function exported(text: string, ...traceIds: readonly string[]): Promise<string[]> {
    const path = join(directory, 't.jsonl')
    await writeFile(path, text)
    const lines: string[] = []
    for await (const line of exportOtlp([path], new Set(traceIds))) lines.push(line)
    return lines
  }

  const span = (id: string, trace: string): SpanNote => ({ id, trace, name: `n${id}`, from: 1, to: 2 })

  test('has the lines of some traces as they were written, also the last one without a line end', async () => {
    const lines = [
      exportLine(span('1', 'aa'), span('2', 'bb')),
      exportLine(span('3', 'bb')),
      exportLine(span('4', 'aa')),
    ]
    expect(await exported(lines.join('\n'), 'aa')).toEqual([exportLine(span('1', 'aa')), exportLine(span('4', 'aa'))])
  })

  test('has nothing of the log itself: no header, no note of open spans, no damage', async () => {
    const header = '{"hookspan.segment":{"traceId":"aa"}}'
    const text = [
      header,
      noteLine(span('1', 'aa')),
      '{"traceId":"aa"',
      '[1]',
      '{"resourceSpans":[7,{"scopeSpans":{"aa":1}}]}',
    ]
    expect(await exported(`${text.join('\n')}\n${exportLine(span('2', 'aa'))}\n`, 'aa')).toEqual([
      exportLine(span('2', 'aa')),
    ])
  })

  test('is read back as the same traces', async () => {
    const [line = ''] = await exported(
      exportLine(...SAMPLE_TURN),
      SAMPLE_TURN[0]?.trace ?? '5b8efff798038103d269b633813fc60c',
    )
    expect(buildForest(readExportLine(line))).toEqual(forest(...SAMPLE_TURN))
  })
})
