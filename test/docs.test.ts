import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HOOKS } from '../src/contract/index.ts'
import { GEN_AI, GEN_AI_NEXT, GENERAL, METRIC, OPENINFERENCE, OWN } from '../src/contract/semconv/index.ts'
import type { IncompleteReason } from '../src/contract/vocabulary.ts'
import { SERIES } from './observability/prometheus-names.ts'
import { anchors, exists, inlineCode, links, PAGES, ROOT, read, script } from './support/pages.ts'
import { SAMPLED, sample } from './support/sample.ts'

interface Interfaces {
  readonly fields: readonly { readonly name: string }[]
}

const { GENERATED } = await script<{ GENERATED: ReadonlyMap<string, () => string> }>('write-docs.mjs')

type EffectsOf = (hook: string, fields: readonly string[]) => ReadonlyMap<string, ReadonlySet<string>>

const HOOKS_PAGE = 'docs/hooks.md'

const SOURCES: readonly string[] = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })

/** What is made by replaying a few hundred times takes seconds. */
const SLOW = 120_000

describe('a generated page (npm run docs)', () => {
  const withoutReplays = [...GENERATED.keys()].filter(path => path !== HOOKS_PAGE)

  test.each(withoutReplays)(
    "equals its generator's output: %s",
    path => {
      expect(read(path)).toBe(GENERATED.get(path)?.())
    },
    SLOW,
  )

  test(
    `equals its generator's output: ${HOOKS_PAGE}, with effects of hooks ${SAMPLED}`,
    async () => {
      const { hooksDoc } = await script<{ hooksDoc(effectsOf: EffectsOf): string }>('hooks-doc.mjs')
      const { fieldEffects } = await script<{ fieldEffects: EffectsOf }>('field-effects.mjs')
      const page = read(HOOKS_PAGE)
      const replayed = sample(Object.keys(HOOKS), 6)
      /** The last column of the page itself. */
      const statedEffects: EffectsOf = (hook, fields) => {
        const lines = page.split(`\n### ${hook}\n`)[1]?.split('\n### ')[0]?.split('\n') ?? []
        return new Map(
          fields.map(field => {
            const line = lines.find(each => each.startsWith(`| \`${field}\` |`))
            return [field, new Set([/ \| ((?:(?! \| ).)*) \|$/.exec(line ?? '')?.[1] ?? ''])]
          }),
        )
      }
      const effectsOf: EffectsOf = (hook, fields) =>
        (replayed.includes(hook) ? fieldEffects : statedEffects)(hook, fields)
      expect(page).toBe(hooksDoc(effectsOf))
    },
    SLOW,
  )
})

test.each(['docs/design.md', 'docs/internals.md', 'CONTRIBUTING.md'])('has only names of existing files: %s', page => {
  const named = inlineCode(read(page)).filter(text => /^[\w/-]+\.ts$/.test(text))
  const paths = ['', 'src/', 'test/'].flatMap(folder => named.filter(path => exists(folder + path)))
  const isThere = (path: string): boolean =>
    paths.includes(path) || SOURCES.some(source => `/${source}`.endsWith(`/${path}`))
  expect(named.length).toBeGreaterThan(0)
  expect(named.filter(path => !isThere(path))).toEqual([])
})

describe('docs/spans.md', () => {
  const page = read('docs/spans.md')

  test.each(Object.entries({ OWN, GEN_AI, GEN_AI_NEXT, OPENINFERENCE, GENERAL: { ...GENERAL } }))(
    'knows every name of %s',
    (_, names) => {
      const resolved = Object.values<string>(names).map(name => name.replace('{ns}', 'hermes'))
      const isKnown = (name: string): boolean => page.includes(`\`${name}\``) || page.includes(`\`${name}.N.`)
      expect(resolved.filter(name => !isKnown(name))).toEqual([])
    },
  )

  test('has every reason of an incomplete span, as does the page of metrics', () => {
    const every: Record<IncompleteReason, true> = {
      turn_ended: true,
      orphaned: true,
      superseded: true,
      shutdown: true,
      crashed: true,
    }
    const line = page.split('\n').find(each => each.startsWith('| `hermes.span.incomplete` |'))
    for (const reason of Object.keys(every)) {
      expect(line).toContain(`\`${reason}\``)
      expect(read('docs/metrics.md')).toContain(`\`${reason}\``)
    }
  })

  test('marks no attribute that is always set as requiring content', () => {
    expect(page).toMatch(/^\| `hermes\.tool\.outcome` \| string \| end \| {2}\|/m)
    expect(page).toMatch(/^\| `hermes\.tool\.command` \| string \| start, later \| content \|/m)
    expect(page).toMatch(
      /^\| `llm\.input_messages\.N\.message\.role` \| string \| start \| `content_capture: full` \|/m,
    )
  })
})

describe('docs/hooks.md', () => {
  test('has a value for every field of every hook in the complete turn', async () => {
    const { contractInterfaces, payloadInterfaces, describePayload } = await script<{
      contractInterfaces(): unknown
      payloadInterfaces(): ReadonlyMap<string, string>
      describePayload(interfaces: unknown, name: string): Interfaces
    }>('contract-types.mjs')
    const { COMPLETE_RECORDS } = await script<{
      COMPLETE_RECORDS: readonly { readonly hook: string; readonly payload: object }[]
    }>('complete-records.mjs')
    const interfaces = contractInterfaces()
    const missing = [...payloadInterfaces()].flatMap(([hook, name]) => {
      const given = new Set(
        COMPLETE_RECORDS.flatMap(record => (record.hook === hook ? Object.keys(record.payload) : [])),
      )
      const { fields } = describePayload(interfaces, name)
      return fields.filter(field => !given.has(field.name)).map(field => `${hook}.${field.name}`)
    })
    expect(missing).toEqual([])
  })
})

describe('docs/metrics.md', () => {
  const named = new Set(inlineCode(read('docs/metrics.md')))

  test('has every instrument', () => {
    const names = Object.values(METRIC).map(name => name.replace('{ns}', 'hermes'))
    expect(names.filter(name => !named.has(name))).toEqual([])
  })

  test('has every name that Prometheus may store', () => {
    const bases = SERIES.map(({ name, part }) => (part === 'value' ? name : name.replace(/_(bucket|sum|count)$/, '')))
    expect(bases.filter(name => !named.has(name))).toEqual([])
  })
})

describe('links', () => {
  test.each(PAGES)('resolves in %s', path => {
    for (const link of links(path)) {
      expect(exists(link.path), link.path).toBe(true)
      if (link.anchor !== undefined) expect(anchors(read(link.path)), link.path).toContain(link.anchor)
    }
  })

  // Pictures are seen where the repository is: npm's page of the package leads there.
  test('stays within the package, except for pictures', () => {
    const { files } = JSON.parse(read('package.json')) as { files: string[] }
    const isShipped = (path: string): boolean =>
      path.startsWith('docs/images/') || files.some(file => path === file || path.startsWith(`${file}/`))
    const leading = PAGES.filter(isShipped).flatMap(path => links(path).map(link => link.path))
    expect(leading.filter(path => !isShipped(path))).toEqual([])
  })
})
