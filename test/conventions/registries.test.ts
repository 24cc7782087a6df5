/** The tables that were transcribed, held against the packages of names: neither may have what the other has not. */
import * as incubating from '@opentelemetry/semantic-conventions/incubating'
import { describe, expect, test } from 'vitest'
import { GEN_AI, OPERATION, WELL_KNOWN_PROVIDERS } from '../../src/contract/semconv/index.ts'
import { PROVIDER_EXCEPTIONS } from './exceptions.ts'
import { GEN_AI_ATTRIBUTES, GEN_AI_METRICS, GEN_AI_OPERATIONS, LATER_METRICS } from './gen-ai-table.ts'
import { GENERAL_ATTRIBUTES, OPENINFERENCE_ATTRIBUTES } from './other-tables.ts'
import { OPENINFERENCE_NAMES, OTEL_ATTRIBUTES, OTEL_METRICS } from './registries.ts'

const live = (names: typeof OTEL_ATTRIBUTES): string[] =>
  [...names.values()].flatMap(({ name, deprecated }) => (deprecated === undefined ? [name] : []))

/** The well-known values of an attribute, as the package lists them. */
function valuesOf(attribute: string): string[] {
  const prefix = `GEN_AI_${attribute.toUpperCase().replaceAll('.', '_')}_VALUE_`
  const found = Object.entries(incubating).flatMap(([name, value]) => (name.startsWith(prefix) ? [String(value)] : []))
  return [...new Set(found)].sort()
}

describe('the reader of the registries', () => {
  test('reads all of them, with deprecated names', () => {
    expect(OTEL_ATTRIBUTES.size).toBeGreaterThan(900)
    expect(OTEL_METRICS.size).toBeGreaterThan(300)
    expect(OPENINFERENCE_NAMES.size).toBeGreaterThan(100)
    expect(OTEL_ATTRIBUTES.get('gen_ai.system')?.deprecated).toContain('gen_ai.provider.name')
    expect(OTEL_ATTRIBUTES.get('gen_ai.usage.input_tokens')).not.toHaveProperty('deprecated')
    expect(OTEL_ATTRIBUTES.get('http.method')?.deprecated).toContain('http.request.method')
  })

  test('knows every name with a type of theirs', () => {
    expect(Object.keys(GENERAL_ATTRIBUTES).filter(name => !OTEL_ATTRIBUTES.has(name))).toEqual([])
    expect(Object.keys(OPENINFERENCE_ATTRIBUTES).filter(name => !OPENINFERENCE_NAMES.has(name))).toEqual([])
  })
})

describe('the table of GenAI', () => {
  test('has exactly the attributes of the registry', () => {
    const registered = live(OTEL_ATTRIBUTES).filter(name => name.startsWith('gen_ai.') && !name.includes('openai'))
    expect(Object.keys(GEN_AI_ATTRIBUTES).map(name => `gen_ai.${name}`)).toEqual(registered.sort())
  })

  test('has exactly the metrics of clients', () => {
    const registered = live(OTEL_METRICS).filter(name => name.startsWith('gen_ai.client.'))
    expect(Object.keys(GEN_AI_METRICS).sort()).toEqual(registered.sort())
    expect(Object.keys(LATER_METRICS).filter(name => OTEL_METRICS.has(name))).toEqual([])
  })

  test.each(['operation.name', 'provider.name', 'output.type', 'token.type'])(
    'has the well-known values of %s',
    name => {
      expect([...(GEN_AI_ATTRIBUTES[name]?.values ?? [])].sort()).toEqual(valuesOf(name))
    },
  )

  test('has buckets that grow by the same factor from end to end', () => {
    for (const { buckets } of Object.values({ ...GEN_AI_METRICS, ...LATER_METRICS })) {
      const [first = 0, second = 0] = buckets
      const factors = buckets.slice(1).map((bucket, at) => Math.round((bucket / (buckets[at] ?? 0)) * 1000) / 1000)
      expect(new Set(factors)).toEqual(new Set([second / first]))
    }
  })
})

describe('our own tables', () => {
  test('has no attribute of GenAI outside the registry', () => {
    expect(Object.values(GEN_AI).filter(name => GEN_AI_ATTRIBUTES[name.slice('gen_ai.'.length)] === undefined)).toEqual(
      [],
    )
  })

  test('writes well-known operations, with a row each', () => {
    const known = GEN_AI_ATTRIBUTES['operation.name']?.values ?? []
    expect(Object.values(OPERATION).filter(name => !known.includes(name))).toEqual([])
    expect(Object.keys(GEN_AI_OPERATIONS).sort()).toEqual(Object.values(OPERATION).sort())
  })

  test('maps to well-known providers, with exceptions', () => {
    const known = GEN_AI_ATTRIBUTES['provider.name']?.values ?? []
    const others = [...WELL_KNOWN_PROVIDERS.values()].filter(name => !known.includes(name))
    expect([...new Set(others)].sort()).toEqual(Object.keys(PROVIDER_EXCEPTIONS).sort())
  })
})
