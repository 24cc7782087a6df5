import { describe, expect, it } from 'vitest'
import { boundedJson } from '../../src/content/bounded-json.ts'
import { keepAll } from '../../src/content/clip.ts'

describe('the work of writing JSON', () => {
  it('reads only as many properties as fit', () => {
    let reads = 0
    const endless = new Proxy([], {
      get: (_, key) => {
        if (key === 'length') return 1_000_000_000
        if (typeof key === 'string') reads++
        return undefined
      },
    })
    boundedJson(endless, 200, keepAll)
    expect(reads).toBeLessThan(210)
  })

  it('does not visit more than it may write, even where nothing is written', () => {
    let reads = 0
    const keys = Array.from({ length: 10_000 }, (_, at) => `k${at}`)
    const empty = new Proxy(Object.fromEntries(keys.map(key => [key, 1])), {
      get: (_, key) => {
        if (typeof key === 'string') reads++
        return undefined
      },
    })
    expect(boundedJson(empty, 100, keepAll)).toEqual({ text: '{}', truncated: true })
    expect(reads).toBeLessThan(110)
  })

  it('passes windows to the redactor, never a whole long text', () => {
    const seen: number[] = []
    const leaf = (text: string): string => {
      seen.push(text.length)
      return text
    }
    boundedJson({ a: 'x'.repeat(10_000_000), b: 'y'.repeat(10_000_000) }, 1200, leaf)
    expect(Math.max(...seen)).toBeLessThan(1200 + 500)
    expect(seen.length).toBeLessThan(3)
  })

  it('reads a bounded length of text, however little of it remains', () => {
    let read = 0
    const leaf = (text: string): string => {
      read += text.length
      return '[REDACTED]'
    }
    const secrets = Array.from({ length: 4000 }, () => 'x'.repeat(70_000))
    expect(boundedJson(secrets, 65_536, leaf)?.truncated).toBe(true)
    expect(read).toBeLessThan(10 * 65_536)
    read = 0
    boundedJson(Object.fromEntries(secrets.map((secret, at) => [`k${at}`, secret])), 1200, leaf)
    expect(read).toBeLessThan(10 * 2000)
  })

  it('lists the keys of a very wide object once, and shows the first ones', () => {
    const keys = Array.from({ length: 20_000 }, (_, at) => `k${at}`)
    let lists = 0
    const wide = new Proxy(Object.fromEntries(keys.map(key => [key, 1])), {
      ownKeys: target => {
        lists++
        return Reflect.ownKeys(target)
      },
    })
    const first = boundedJson(wide, 1_000_000, keepAll)
    const again = boundedJson(wide, 1_000_000, keepAll)
    expect(first).toEqual(again)
    expect(first?.truncated).toBe(true)
    expect(Object.keys(JSON.parse(first?.text ?? '{}') as object)).toEqual(keys.slice(0, 10_000))
    expect(lists).toBe(1)
  })

  it('stops reading a Set after the elements that fit', () => {
    let taken = 0
    const set = new Set()
    set[Symbol.iterator] = function* () {
      for (;;) yield taken++
    }
    boundedJson(set, 100, keepAll)
    expect(taken).toBeLessThan(110)
  })
})
