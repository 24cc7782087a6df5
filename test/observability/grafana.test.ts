import { describe, expect, test } from 'vitest'
import { METRIC } from '../../src/contract/semconv/index.ts'
import { INSTRUMENTS } from '../../src/tracker/instrument-table.ts'
import { expectExpression } from './expect-expression.ts'
import { KEYS } from './prometheus-names.ts'
import { references } from './promql-references.ts'
import { compose, exists, imageKey, LISTENS, mounts, reached, text, yaml } from './stack-files.ts'

interface Target {
  readonly expr: string
  readonly legendFormat: string
  readonly datasource: { readonly type: string; readonly uid: string }
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly Target[]
}

interface Dashboard {
  readonly uid: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { name: string; type: string; query: unknown }[] }
}

interface Generator {
  dashboard(tables: { METRIC: unknown; INSTRUMENTS: unknown }): Dashboard
  dashboardText(tables: { METRIC: unknown; INSTRUMENTS: unknown }): string
}

const FILE = 'observability/grafana/dashboards/hookspan.json'
const SCRIPT = new URL('../../scripts/dashboard.mjs', import.meta.url).href
const generator: Generator = await import(/* @vite-ignore */ SCRIPT)
const dashboard: Dashboard = JSON.parse(text(FILE))
const panels = dashboard.panels.filter(({ type }) => type !== 'row')
const targets = panels.flatMap(({ title, targets: all = [] }) => all.map(target => ({ title, ...target })))
const service = compose.services['grafana']

const braced = (name: string): string => `$\{${name}}`

/** As Grafana fills in the variables when nothing was chosen. */
function filled(expression: string): string {
  return expression.replaceAll(braced('ns'), 'hermes').replaceAll('$job', '.*')
}

function mountOf(path: string): string | undefined {
  return service && mounts(service).find(({ from }) => from === `./${path}`)?.to
}

test('is committed as generated from the tables', () => {
  expect(text(FILE)).toBe(generator.dashboardText({ METRIC, INSTRUMENTS }))
})

test('rejects a label that an instrument does not have', () => {
  const sessions = { ...INSTRUMENTS.sessions, labels: [] }
  expect(() => generator.dashboard({ METRIC, INSTRUMENTS: { ...INSTRUMENTS, sessions } })).toThrow(
    '{ns}.sessions has no label',
  )
})

describe.each(targets)('$title: $expr', ({ expr, legendFormat, datasource }) => {
  test('reads metrics and labels that exist, by every spelling', () => {
    expectExpression(filled(expr))
  })

  test('follows the chosen service and data source', () => {
    for (const { labels } of references(filled(expr))) expect(labels).toContain('job')
    expect(datasource).toEqual({ type: 'prometheus', uid: braced('datasource') })
  })

  test('names only labels that it groups by', () => {
    const grouped = references(filled(expr)).flatMap(({ labels }) => labels)
    expect(legendFormat).not.toBe('')
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) expect(grouped).toContain(label)
  })
})

test('shows every instrument', () => {
  const shown = new Set(targets.flatMap(({ expr }) => expectExpression(filled(expr))))
  expect(KEYS.filter(key => !shown.has(key))).toEqual([])
})

test('has one row per subject', () => {
  expect(dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
    'Turns',
    'Tokens',
    'Model requests',
    'Tools',
    'Errors and retries',
    'Approvals',
    'Guards',
    'Child agents',
    'hookspan',
  ])
})

test('gives each panel its own id and place, and its own title within a row', () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
})

test('works with any Prometheus, any namespace and any service', () => {
  const variables = dashboard.templating.list.map(({ name, type }) => [name, type])
  expect(variables).toEqual([
    ['datasource', 'datasource'],
    ['ns', 'textbox'],
    ['job', 'query'],
  ])
})

describe('provisioning', () => {
  const { datasources } = yaml<{ datasources: { name: string; uid: string; type: string; url: string }[] }>(
    'observability/grafana/provisioning/datasources/hookspan.yaml',
  )
  const { providers } = yaml<{ providers: { type: string; options: { path: string } }[] }>(
    'observability/grafana/provisioning/dashboards/hookspan.yaml',
  )

  test.each(datasources)('has the service of the stack, on its port, as the data source $name', ({ type, url }) => {
    const { hostname, port } = new URL(url)
    const target = reached('all', hostname)
    expect(target && imageKey(target)).toBe(type)
    expect(LISTENS[type]).toContain(Number(port))
  })

  test('has Prometheus in both profiles with Grafana', () => {
    for (const profile of service?.profiles ?? []) expect(reached(profile, 'prometheus')).toBeDefined()
  })

  test('mounts dashboards and provisioning where Grafana looks for them', () => {
    const dashboards = mountOf('observability/grafana/dashboards')
    expect(mountOf('observability/grafana/provisioning')).toBe('/etc/grafana/provisioning')
    expect(providers.map(({ options }) => options.path)).toEqual([dashboards])
    expect(service?.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH']).toBe(`${dashboards}/hookspan.json`)
    expect(exists(FILE)).toBe(true)
  })
})
