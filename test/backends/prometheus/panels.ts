import { text } from '../../observability/stack-files.ts'

export interface PanelQuery {
  readonly row: string
  readonly title: string
  readonly expr: string
  readonly instant: boolean
}

interface Panel {
  readonly type: string
  readonly title: string
  readonly targets?: readonly { readonly expr: string; readonly instant: boolean }[]
}

interface Variable {
  readonly name: string
  readonly type: string
  readonly definition?: string
}

const DASHBOARD: { readonly panels: readonly Panel[]; readonly templating: { readonly list: readonly Variable[] } } =
  JSON.parse(text('observability/grafana/dashboards/hookspan.json'))

/** Every query of the dashboard. */
export function panelQueries(): PanelQuery[] {
  let row = ''
  return DASHBOARD.panels.flatMap(({ type, title, targets = [] }) => {
    if (type === 'row') row = title
    return targets.map(({ expr, instant }) => ({ row, title, expr, instant }))
  })
}

/** The metric and the label of the variable that lists services: `label_values(metric, label)`. */
export function serviceVariable(): { readonly metric: string; readonly label: string } {
  const definition = DASHBOARD.templating.list.find(({ name }) => name === 'job')?.definition ?? ''
  const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? []
  return { metric, label }
}

/**
 * A query as Grafana sends it, with all services chosen.
 *
 * @param rangeSeconds what the dashboard shows
 */
export function filledIn(expr: string, rangeSeconds: number): string {
  const values: Readonly<Record<string, string>> = {
    ns: 'hermes',
    job: '.*',
    // Four times the `timeInterval` of the provisioned data source.
    __rate_interval: '4m0s',
    __range: `${rangeSeconds}s`,
  }
  return expr.replace(
    /\$(?:\{(\w+)\}|(\w+))/g,
    (all, braced?: string, plain?: string) => values[braced ?? plain ?? ''] ?? all,
  )
}
