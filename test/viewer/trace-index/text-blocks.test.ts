/** The trigrams of blocks: they may let a search read too much, and never too little. */
import { expect, test } from 'vitest'
import type { StoredSpan } from '../../../src/reading/stored-span.ts'
import { parseSearchText } from '../../../src/viewer/trace-index/search.ts'
import { TextBlocks } from '../../../src/viewer/trace-index/text-blocks.ts'
import { exportLine, type SpanNote } from '../../reading/sample-turn.ts'
import fc from '../../support/fast-check.ts'
import { times } from '../../support/sample.ts'
import { LogScene } from './index-scene.ts'

/** ASCII, and characters that change with case or normalization, alone or beside others. */
const CHARACTERS = [
  ...'abcXYZ019 .-_/"\n',
  ...['é', 'É', 'e\u0301', '\u0301', '\u0345', '\u0338', 'İ', 'ı', '\u212a', '\u212b', 'ß', 'ſ', 'ﬁ', 'Σ', 'ж'],
  ...['日', '本', 'が', '\u3099', '각', '가', '\u1100', '\u1161', '\u11a8', '🚀', '\ud800'],
]

function spanWith(text: string): StoredSpan {
  const scope = { name: '' }
  const rest = { events: [], links: [], resource: {}, scope, startAt: 0, endAt: 0 }
  return { traceId: 't', spanId: 's', name: 'n', kind: 'internal', status: 'ok', attributes: { text }, ...rest }
}

function blockWith(text: string) {
  const blocks = new TextBlocks()
  blocks.addSpan({ path: '', offset: 0, length: 1 }, spanWith(text))
  return new TextBlocks(blocks.toJSON()).between(0, 1)[0] ?? { from: 0, to: 0, trigrams: new Uint8Array() }
}

test('never skips a block with a match', () => {
  const changes = fc.constantFrom<(text: string) => string>(
    text => text,
    text => text.toUpperCase(),
    text => text.toLowerCase(),
    text => text.normalize('NFD'),
    text => text.normalize('NFC'),
  )
  const texts = fc.array(fc.constantFrom(...CHARACTERS), { minLength: 1, maxLength: 24 })
  fc.assert(
    fc.property(texts, fc.nat(24), fc.nat(24), changes, (characters, from, length, change) => {
      const text = characters.join('')
      const sought = parseSearchText(change(characters.slice(from, from + length).join('')))
      for (const matcher of [sought?.words, sought?.pieces]) {
        if (matcher?.matches(`n\n${text}`)) expect(matcher.mayBeIn(blockWith(text))).toBe(true)
      }
    }),
    { numRuns: times(200, 5_000) },
  )
})

test('skips a block that lacks a part of the text, or lacks it at the start of a word', () => {
  const block = blockWith('Read the CHANGELOG at café 42')
  const isSkipped = (text: string) => {
    const { words, pieces } = parseSearchText(text) ?? {}
    return [words, pieces].map(matcher => matcher?.mayBeIn(block) === false)
  }
  expect(isSkipped('changelog')).toEqual([false, false])
  expect(isSkipped('hangelog')).toEqual([true, false])
  expect(isSkipped('cafe 42')).toEqual([false, false])
  expect(isSkipped('changelogs')).toEqual([true, true])
  expect(isSkipped('read nothing')).toEqual([true, true])
})

test('finds each text of a file of several blocks, also when reopened', async () => {
  const scene = new LogScene()
  const filler = 'x'.repeat(20_000)
  const names = Array.from({ length: 60 }, (_, n) => `word${n}end`)
  for (const name of names) {
    const note: SpanNote = { id: '1', trace: name, name: 'agent', from: 0, to: 1, attributes: { filler, name } }
    scene.lines('1-1.jsonl', exportLine(note))
  }
  await scene.indexed()
  const opened = scene.open()
  for (const name of names) {
    for (const text of [name, name.slice(1)]) expect(await opened.found({ text }), text).toEqual([`trace:${name}`])
  }
})
