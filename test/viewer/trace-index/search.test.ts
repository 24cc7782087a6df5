/** What a person types is found, and means nothing to the database. */
import { expect, test } from 'vitest'
import { parseSearchText } from '../../../src/viewer/trace-index/search.ts'
import { exportLine, noteLine, type SpanNote, TURN_AT } from '../../reading/sample-turn.ts'
import { LogScene, type Opened } from './index-scene.ts'

const TEXTS: Readonly<Record<string, string>> = {
  readme: 'Read README.md, and summarise the CHANGELOG in three bullets',
  accents: 'Über die Brücke nach Besançon; naïve café',
  japanese: '日本語のファイルを検索してください',
  thai: 'ค้นหาไฟล์ทั้งหมด',
  code: "SELECT * FROM \"users\" WHERE name = 'O''Hara' -- drop",
  path: '/home/me/src/foo-bar/baz_qux.ts:42',
  json: '{"query":"needle in json","escaped":"a\\"b"}',
  terminal: '\u001b[31mred alert\u001b[0m \u202eevil\u202c',
  emoji: 'shipped it 🚀 today',
}

function turn(trace: string, session: string, prompt: string, more: Readonly<Record<string, string>> = {}): SpanNote {
  const attributes = { 'hermes.span.kind': 'session', 'session.id': session, 'input.value': prompt, ...more }
  return { id: '1', trace, name: 'agent', from: trace.charCodeAt(0), to: 2_000, attributes }
}

async function opened(): Promise<Opened> {
  const scene = new LogScene()
  for (const [n, [name, text]] of Object.entries(TEXTS).entries()) {
    scene.lines('1-1.jsonl', exportLine(turn(`t${n}`, name, text, { 'gen_ai.request.model': `m${n % 2}` })))
  }
  scene.lines('1-1.jsonl', noteLine(turn('open', 'running', 'still at it')))
  const index = scene.open()
  await index.catchUp()
  return index
}

const FOUND: readonly (readonly [string, readonly string[]])[] = [
  ['readme', ['readme']],
  ['README.md', ['readme']],
  ['changelog bullets', ['readme']],
  ['changelog nothing', []],
  ['summar', ['readme']],
  ['ummaris', ['readme']],
  ['uber brucke', ['accents']],
  ['ÜBER', ['accents']],
  ['besancon', ['accents']],
  ['日本語', ['japanese']],
  ['検索', ['japanese']],
  ['検索 nothing', []],
  ['ไฟล์', ['thai']],
  ['users" WHERE', ['code']],
  ["O''Hara", ['code']],
  ['foo-bar', ['path']],
  ['baz_qux.ts:42', ['path']],
  ['oo-ba', ['path']],
  ['needle', ['json']],
  ['"query":"needle', ['json']],
  ['🚀', ['emoji']],
  ['still at it', ['running']],
  ['red alert', ['terminal']],
  ['no such thing', []],
  ['" OR "', []],
  ['NEAR(readme', []],
  ['readme AND NOT text', []],
  ['text : readme', []],
  ['*', ['code']],
  ['^readme', ['readme']],
]

// One index for all of them: it costs more than what is asked of it.
test(`finds all matches of each of ${FOUND.length} searches`, async () => {
  const index = await opened()
  const found: [string, readonly string[]][] = []
  for (const [text] of FOUND) found.push([text, (await index.found({ text })).toSorted()])
  expect(found).toEqual(FOUND)
})

test('omits nothing without a search text', async () => {
  const index = await opened()
  expect(await index.found({ text: ' \n ' })).toHaveLength(Object.keys(TEXTS).length + 1)
})

test('applies a filter to matches, by the index and by reading', async () => {
  const index = await opened()
  for (const text of ['readme', 'eadm', '日本']) {
    const [session] = await index.found({ text })
    const number = Object.keys(TEXTS).indexOf(session ?? '')
    expect(await index.found({ text, model: `m${number % 2}` }), text).toEqual([session])
    expect(await index.found({ text, model: `m${(number + 1) % 2}` }), text).toEqual([])
  }
})

test('has printable excerpts that show the place', async () => {
  const index = await opened()
  const excerptOf = async (text: string): Promise<string | undefined> =>
    (await index.sessions({ text })).rows[0]?.match?.excerpt
  expect(await excerptOf('bullets')).toContain('the CHANGELOG in three bullets')
  expect(await excerptOf('検索')).toContain('日本語のファイルを検索してください')
  const shown = (await excerptOf('red alert')) ?? ''
  expect(shown).toContain('red alert evil')
  for (const character of ['\u001b', '\u202e', '\u202c']) expect(shown).not.toContain(character)
})

test('searches a frequent word from the newest back, and reports how far', async () => {
  const scene = new LogScene()
  const many = Array.from({ length: 600 }, (_, n): SpanNote => {
    return { id: '1', trace: `new${n}`, name: 'needle', from: 5_000, to: 5_001 }
  })
  scene.lines('1-1.jsonl', exportLine(turn('old', 'old', 'needle')), ...many.map(note => exportLine(note)))
  const index = scene.open()
  await index.catchUp()
  const { rows, searchedSince } = await index.sessions({ text: 'needle', limit: 500 })
  expect([rows.length, rows.some(({ id }) => id === 'old'), searchedSince]).toEqual([500, false, TURN_AT + 5_000])
  expect(await index.sessions({ text: 'needle', untilAt: TURN_AT + 4_999 })).toMatchObject({ rows: [{ id: 'old' }] })
})

test('finds words with and without accents, at their beginning, and in no name of a field', async () => {
  const scene = new LogScene()
  const texts = { fields: 'plain', accents: 'déjà vu', marks: 'de\u0301ja\u0300 lu', start: 'restart\nstart' }
  for (const [session, text] of Object.entries(texts))
    scene.lines('1-1.jsonl', exportLine(turn(session, session, text)))
  const index = scene.open()
  await index.catchUp()
  expect((await index.found({ text: 'Deja' })).toSorted()).toEqual(['accents', 'marks'])
  expect(await index.found({ text: 'stringValue' })).toEqual([])
  expect(await index.found({ text: 'start' })).toEqual(['start'])
  expect(await index.found({ text: 'tart' })).toEqual(['start'])
  expect(await index.found({ text: 'vu' })).toEqual(['accents'])
})

test('finds texts beyond ASCII in files that escape them, as in files that do not', async () => {
  const scene = new LogScene()
  const texts = {
    accent: 'un café noir',
    mark: 'un cafe\u0301 noir',
    upper: 'CAFÉ',
    emoji: 'shipped 🚀',
    script: 'ファイル検索',
  }
  const escaped = (line: string): string =>
    line.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  for (const [session, text] of Object.entries(texts)) {
    scene.lines('1-1.jsonl', exportLine(turn(`${session}1`, session, text)))
    scene.lines('2-1.jsonl', escaped(exportLine(turn(`${session}2`, `${session} escaped`, text))))
  }
  const index = scene.open()
  await index.catchUp()
  for (const [text, ...sessions] of [
    ['cafe', 'accent', 'mark', 'upper'],
    ['Café', 'accent', 'mark', 'upper'],
    ['afé', 'accent', 'upper'],
    ['🚀', 'emoji'],
    ['検索', 'script'],
  ] as const) {
    const expected = sessions.flatMap(session => [session, `${session} escaped`])
    expect((await index.found({ text })).toSorted(), text).toEqual(expected.toSorted())
  }
})

test('shows the newest match', async () => {
  const scene = new LogScene()
  for (const trace of ['a', 'b', 'c']) scene.lines('1-1.jsonl', exportLine(turn(trace, 's', `needle of ${trace}`)))
  scene.lines('1-1.jsonl', exportLine(turn('d', 's', 'nothing')))
  const index = scene.open()
  await index.catchUp()
  expect((await index.sessions({ text: 'needle' })).rows).toMatchObject([
    { id: 's', match: { traceId: 'c', spanId: '1' } },
  ])
})

test('limits the search text', () => {
  expect(parseSearchText('word '.repeat(1_000))?.words).toBeUndefined()
  expect(parseSearchText(' ')).toBeUndefined()
})
