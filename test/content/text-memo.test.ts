import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { CaptureSettings } from '../../src/content/capture-policy.ts'
import { keepAll } from '../../src/content/clip.ts'
import { createRedactor } from '../../src/content/redaction.ts'
import { TextMemo } from '../../src/content/text-memo.ts'
import fc from '../support/fast-check.ts'
import { captureWith } from './captures.ts'

const MEBI = 1024 * 1024
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Flat and of its own, unlike the result of `slice` or `+`. */
const freshText = (head: string, length: number): string => Buffer.from(head.padEnd(length, 'x')).toString()

describe('a memo of texts', () => {
  it('computes an equal text once', () => {
    let computed = 0
    const memo = new TextMemo(text => `${text} ${++computed}`)
    expect(memo.resultOf('a')).toBe('a 1')
    expect(memo.resultOf(['a'].join(''))).toBe('a 1')
    expect(memo.resultOf('b')).toBe('b 2')
  })

  it('starts anew after 4000 texts, or 512 Ki characters of texts and results', () => {
    let computed = 0
    const memo = new TextMemo(text => {
      computed++
      return text
    })
    for (let at = 0; at <= 4000; at++) memo.resultOf(`${at}`)
    memo.resultOf('4000')
    expect(computed).toBe(4001)
    memo.resultOf('0')
    expect(computed).toBe(4002)
    for (let at = 0; at < 9; at++) memo.resultOf(freshText(`${at} `, 32 * 1024))
    memo.resultOf('0')
    expect(computed).toBe(4002 + 9 + 1)
  })

  it('computes a longer text each time', () => {
    let computed = 0
    const memo = new TextMemo(() => `${++computed}`)
    const long = 'x'.repeat(32 * 1024 + 1)
    expect([memo.resultOf(long), memo.resultOf(long)]).toEqual(['1', '2'])
  })

  it('holds at most the stated memory, whatever the texts are slices of', () => {
    const memo = new TextMemo(text => ({ text: text.slice(0, 100) }))
    collect()
    const before = process.memoryUsage().heapUsed
    for (let at = 0; at < 500; at++) memo.resultOf(freshText(`${at} `, MEBI).slice(0, 1000))
    collect()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(4 * MEBI)
  })
})

describe('full capture with a memo', () => {
  const settings: Partial<CaptureSettings> = { mode: 'full', contentMaxChars: 300 }
  const secret = 'export API_KEY=sk-example-0000000000000000'
  const texts = fc.constantFrom(
    'hello',
    secret,
    `{"password":"hunter2","a":[1,"${'é'.repeat(200)}"]}`,
    'x '.repeat(400),
  )
  const values = fc.oneof(texts, fc.array(fc.record({ role: fc.constant('user'), content: texts })))

  it('captures the same as without one', () => {
    fc.assert(
      fc.property(fc.array(values), given => {
        const memoized = captureWith({ ...settings, isPure: true })
        const plain = captureWith(settings)
        for (const value of given) {
          expect(memoized.content(value, 'llm_input')).toEqual(plain.content(value, 'tool_output'))
          expect(memoized.json(value)).toBe(plain.json(value))
        }
      }),
    )
  })

  it('masks each text once', () => {
    const redact = createRedactor({ enabled: true, patterns: [] })
    let redactions = 0
    const counted = (text: string): string => {
      redactions++
      return redact(text)
    }
    const capture = captureWith({ mode: 'full', isPure: true, redact: counted })
    const messages = [{ content: secret }, { content: secret }]
    for (let request = 0; request < 3; request++) {
      expect(capture.content(messages, 'llm_input')?.text).not.toContain('sk-example')
      expect(capture.content(secret, 'llm_input')?.text).not.toContain('sk-example')
    }
    expect(redactions).toBe(1)
  })

  it('remembers no content of tools', () => {
    let redactions = 0
    const redact = (text: string): string => {
      redactions++
      return text
    }
    const capture = captureWith({ mode: 'full', isPure: true, redact })
    for (const result of ['a result', 'another', 'a result']) capture.content(result, 'tool_output')
    expect(redactions).toBe(3)
  })

  it('calls a function of the user for each text', () => {
    const names = ['Ada']
    const redact = (text: string): string => names.reduce((left, name) => left.replaceAll(name, '[NAME]'), text)
    const capture = captureWith({ mode: 'full', redact })
    expect(capture.content([{ content: 'Ada and Alan' }], 'llm_input')?.text).toContain('[NAME] and Alan')
    names.push('Alan')
    expect(capture.content([{ content: 'Ada and Alan' }], 'llm_input')?.text).toContain('[NAME] and [NAME]')
  })

  it('keeps everything without redaction', () => {
    const capture = captureWith({ mode: 'full', isPure: true, redact: keepAll })
    expect(capture.content([secret], 'llm_input')?.text).toBe(JSON.stringify([secret]))
  })
})
