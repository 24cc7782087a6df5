import { describe, expect, test } from 'vitest'
import { expectExpression } from './expect-expression.ts'
import { compose, mounts, text, yaml } from './stack-files.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

interface Prometheus {
  readonly rule_files: readonly string[]
  readonly otlp: { readonly translation_strategy: string }
  readonly scrape_configs: readonly {
    readonly job_name: string
    readonly static_configs?: unknown
    readonly file_sd_configs?: readonly { readonly files: readonly string[] }[]
  }[]
}

const prometheus = yaml<Prometheus>('observability/prometheus.yml')
const rules = yaml<{ groups: { name: string; rules: Rule[] }[] }>('observability/rules.yml').groups.flatMap(
  group => group.rules,
)
const service = compose.services['prometheus']

function mountOf(path: string): string | undefined {
  return service && mounts(service).find(({ from }) => from === `./${path}`)?.to
}

test('is mounted where it looks for its files', () => {
  expect(service?.command).toContain(`--config.file=${mountOf('observability/prometheus.yml')}`)
  expect(prometheus.rule_files).toEqual([mountOf('observability/rules.yml')])
})

test('accepts pushes, and counts the first sample of a short process', () => {
  expect(service?.command).toContain('--web.enable-otlp-receiver')
  expect(service?.command?.find(flag => flag.startsWith('--enable-feature='))).toContain(
    'created-timestamp-zero-ingestion',
  )
})

test('translates OTLP the same way in both cases', () => {
  const collector = yaml<{ exporters: { prometheus: { translation_strategy: string } } }>(
    'observability/collector.yaml',
  )
  expect(collector.exporters.prometheus.translation_strategy).toBe(prometheus.otlp.translation_strategy)
})

test("scrapes hookspan's own endpoint on the host if its file is there, under a name that Linux knows", () => {
  const job = prometheus.scrape_configs.find(({ job_name }) => job_name === 'hookspan')
  expect(job?.file_sd_configs).toEqual([{ files: [`${mountOf('observability/targets')}/*.yml`] }])
  const example = yaml<unknown>('observability/targets/hookspan.yml.example')
  expect(example).toEqual([{ targets: ['host.docker.internal:9464'] }])
  expect(service?.extra_hosts).toEqual(['host.docker.internal:host-gateway'])
})

test('has no target that is down by design', () => {
  for (const { static_configs } of prometheus.scrape_configs) expect(static_configs).toBeUndefined()
})

describe.each(rules)('alert $alert', ({ expr, labels, annotations }) => {
  test('is about metrics and labels that exist, by every spelling', () => {
    expectExpression(expr)
  })

  test('has a severity and a description', () => {
    expect(['warning', 'critical']).toContain(labels['severity'])
    expect(annotations['summary']).toMatch(/\{\{/)
  })

  test('names only labels that are left after its aggregation', () => {
    const kept = (/by \(([^)]*)\)/.exec(expr)?.[1] ?? '').split(', ')
    const used = Object.values(annotations).flatMap(line => [...line.matchAll(/\$labels\.(\w+)/g)].map(hit => hit[1]))
    for (const label of used) expect(kept).toContain(label)
  })
})

test('watches stuck turns, errors, drops and token use', () => {
  const names = rules.map(({ alert }) => alert)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toEqual(
    expect.arrayContaining(['HookspanTurnsStuck', 'HookspanModelErrors', 'HookspanDropRate', 'HookspanTokenRate']),
  )
})

test('has a case for promtool for every alert', () => {
  const cases = text('observability/rules.test.yml')
  for (const { alert } of rules) expect(cases).toContain(alert)
})
