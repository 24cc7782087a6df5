import { describe, expect, test } from 'vitest'
import { LineParser } from '../../../src/delivery/trace-log/line-parser.ts'
import { jsonRequest, SpanLine, sizeOf, spansOf } from '../../../src/delivery/trace-log/span-line.ts'
import fc from '../../support/fast-check.ts'
import { anySpans, lineOf, officialJson, officialProtobuf, spanWith } from './any-span.ts'

const LOOKS_LIKE_SPANS = { '"startTimeUnixNano":': '{"startTimeUnixNano":"5"}', startTimeUnixNano: 'startTimeUnixNano' }

function found(line: string | Buffer): SpanLine | undefined {
  return SpanLine.fromFile(Buffer.from(line), new LineParser())
}

describe('a line that is found', () => {
  test('has as many spans as were written, and these', () => {
    fc.assert(
      fc.property(anySpans, spans => {
        const line = found(lineOf(spans))
        expect(line?.size).toBe(spans.length)
        expect(officialJson(line?.spans ?? [])).toBe(officialJson(spans))
        expect(line?.size).toBe(spans.length)
      }),
    )
  })

  test('has the ids and times of its spans without parsing', () => {
    fc.assert(
      fc.property(anySpans, spans => {
        const read = found(lineOf(spans))?.spans ?? []
        const stamps = read.map(({ spanContext, startTime, endTime }) => {
          const { traceId, spanId } = spanContext()
          return { key: `${traceId}${spanId}`, start: millisOf(startTime), end: millisOf(endTime) }
        })
        expect([...(found(lineOf(spans))?.stamps() ?? [])]).toEqual(stamps)
      }),
    )
  })

  test('has exact times if these are whole milliseconds', () => {
    const millis = Array.from({ length: 1000 }, (_, each) => each)
    const spans = millis.map(each => spanWith({ endTime: [1_795_256_100, each * 1e6] }))
    const ends = Array.from(found(lineOf(spans))?.stamps() ?? [], ({ end }) => end)
    expect(ends).toEqual(millis.map(each => 1_795_256_100_000 + each))
  })

  test('counts no text for a span', () => {
    const spans = [spanWith({ name: '"startTimeUnixNano":', attributes: LOOKS_LIKE_SPANS }), spanWith()]
    expect(found(lineOf(spans))?.size).toBe(2)
  })

  test('is sent as is, without parsing', () => {
    const line = lineOf([spanWith()])
    const parser = new LineParser()
    parser.read = () => {
      throw new Error('it was read')
    }
    const one = SpanLine.fromFile(Buffer.from(line), parser) as SpanLine
    expect(Buffer.concat(jsonRequest([one])).toString()).toBe(line)
    expect(Buffer.concat(jsonRequest([one, one])).toString()).toBe(
      JSON.stringify({ resourceSpans: [...resourcesIn(line), ...resourcesIn(line)] }),
    )
  })

  test.each<[string, string | Buffer]>([
    ['cut off', lineOf([spanWith()]).slice(0, -1)],
    ['with a hole', lineOf([spanWith()]).replace('span', '\0\0\0\0')],
    [
      'no text',
      Buffer.concat([Buffer.from(lineOf([spanWith()]).slice(0, -2)), Buffer.from([0xff]), Buffer.from(']}')]),
    ],
    ['of another program', '{"hello":"there"}'],
    ['a note', '{"hookspan.open":{"resourceSpans":[]}}'],
    ['empty', ''],
  ])('is not sent as is when it is %s', (_, line) => {
    expect(found(line)).toBeUndefined()
  })

  test('proves damaged when it is parsed if it only looks whole, and then has no spans', () => {
    const line = found(lineOf([spanWith(), spanWith()]).replace('"kind":', '"kind"}')) as SpanLine
    expect([line.size, line.isDamaged]).toEqual([2, false])
    expect(line.spans).toEqual([])
    expect([line.size, line.isDamaged]).toEqual([0, true])
    const spans = [spanWith()]
    expect(Buffer.concat(jsonRequest([line, new SpanLine(spans)])).toString()).toBe(lineOf(spans))
  })
})

describe('one request of several lines', () => {
  test('has the content of the lines, as JSON and as protobuf', () => {
    fc.assert(
      fc.property(fc.array(anySpans, { maxLength: 4 }), lists => {
        const lines = lists.filter(spans => spans.length > 0).map(spans => new SpanLine(spans))
        const request = Buffer.concat(jsonRequest(lines)).toString()
        const read = new LineParser().read(request)
        expect('spans' in read && read.spans).toHaveLength(sizeOf(lines))
        expect('spans' in read && officialJson(read.spans)).toBe(officialJson(spansOf(lines.flatMap(reread))))
      }),
    )
  })

  test('is empty for no line', () => {
    expect(Buffer.concat(jsonRequest([])).toString()).toBe('{"resourceSpans":[]}')
  })

  test('consists of parts that are built once', () => {
    const spans = [spanWith()]
    const line = new SpanLine(spans)
    expect(line.protobuf).toBe(line.protobuf)
    expect(line.json).toBe(line.json)
    expect(Buffer.from(line.protobuf).toString('hex')).toBe(officialProtobuf(spans))
  })
})

function millisOf([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1000 + Math.trunc(nanos / 1e6) + (nanos % 1e6) / 1e6
}

function resourcesIn(line: string): unknown[] {
  return (JSON.parse(line) as { resourceSpans: unknown[] }).resourceSpans
}

/** What one parser reads shares its resources and scopes, which the serializers group by. */
const parser = new LineParser()
function reread(line: SpanLine): SpanLine {
  const read = parser.read(Buffer.from(line.json).toString())
  return new SpanLine('spans' in read ? read.spans : [])
}
