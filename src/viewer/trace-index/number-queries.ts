import type { ModelFigures, Numbers, NumbersQuery, Percentiles, ToolFigures } from './answers.ts'
import type { Database, Value } from './database.ts'
import { DAY_MILLIS, dayOf, type Figure, millisOfBucket } from './figures.ts'
import { dollars } from './trace-row.ts'

const LAST_CHARACTER = '\u{10ffff}'

export function queryNumbers({ database }: { readonly database: Database }, query: NumbersQuery): Numbers {
  const { sql, values } = conditionOf(query)
  const rows = database.all<Omit<Figure, 'agent'>>(
    `SELECT day, kind, name, outcome, bucket, sum(count) AS count, sum(failed) AS failed, sum(input) AS input,
     sum(output) AS output, sum(cached) AS cached, sum(nanodollars) AS nanodollars FROM figure WHERE ${sql}
     GROUP BY day, kind, name, outcome, bucket ORDER BY day, name`,
    ...values,
  )
  const requests = rows.filter(({ kind }) => kind !== 'tool')
  const tools = rows.filter(({ kind }) => kind === 'tool')
  const turns = rows.filter(({ kind, count }) => kind === 'turn' && count > 0)
  return {
    days: groups(requests, ({ day, name }) => JSON.stringify([day, name])).flatMap(group => modelFigures(group, true)),
    models: groups(requests, ({ name }) => name)
      .flatMap(group => modelFigures(group, false))
      .sort((a, b) => b.tokens.input + b.tokens.output - a.tokens.input - a.tokens.output),
    tools: groups(tools, ({ name }) => name)
      .map(toolFigures)
      .sort((a, b) => b.callCount - a.callCount),
    turns: counted(turns),
    agents: database
      .all<{ agent: string }>("SELECT DISTINCT agent FROM trace WHERE agent <> '' ORDER BY agent")
      .map(({ agent }) => agent),
  }
}

type Row = Omit<Figure, 'agent'>

function conditionOf({ sinceAt, untilAt, agent, model }: NumbersQuery): { sql: string; values: readonly Value[] } {
  const parts: string[] = ['TRUE']
  const values: Value[] = []
  const add = (sql: string, ...more: readonly Value[]): void => {
    parts.push(sql)
    values.push(...more)
  }
  if (sinceAt !== undefined) add('day >= ?', dayOf(sinceAt))
  if (untilAt !== undefined) add('day <= ?', dayOf(untilAt))
  if (agent !== undefined) add('agent = ?', agent)
  // Tool rows have no model: all tools of the turns are counted, whichever model requested them.
  if (model !== undefined) add("(kind = 'tool' OR (name >= ? AND name < ?))", model, model + LAST_CHARACTER)
  return { sql: parts.join(' AND '), values }
}

function groups(rows: readonly Row[], keyOf: (row: Row) => string): Row[][] {
  const found = new Map<string, Row[]>()
  for (const row of rows) {
    const group = found.get(keyOf(row))
    if (group === undefined) found.set(keyOf(row), [row])
    else group.push(row)
  }
  return [...found.values()]
}

/** Empty if the model was named, but neither requested nor used. */
function modelFigures(group: readonly Row[], isOfDay: boolean): ModelFigures[] {
  const requests = group.filter(({ kind }) => kind === 'request')
  const [first] = group
  const figures: ModelFigures = {
    day: isOfDay ? new Date((first?.day ?? 0) * DAY_MILLIS).toISOString().slice(0, 10) : '',
    model: first?.name ?? '',
    requestCount: sum(requests, 'count'),
    errorCount: sum(requests, 'failed'),
    tokens: { input: sum(group, 'input'), output: sum(group, 'output') },
    cachedTokens: sum(group, 'cached'),
    dollars: dollars(sum(group, 'nanodollars')),
    latency: percentiles(requests),
  }
  const { requestCount, tokens } = figures
  return requestCount + tokens.input + tokens.output + figures.dollars === 0 ? [] : [figures]
}

function toolFigures(group: readonly Row[]): ToolFigures {
  return {
    tool: group[0]?.name ?? '',
    callCount: sum(group, 'count'),
    errorCount: sum(group, 'failed'),
    outcomes: counted(group),
    latency: percentiles(group) ?? { p50: 0, p90: 0, p99: 0 },
  }
}

function counted(rows: readonly Row[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const { outcome, count } of rows) counts.set(outcome, (counts.get(outcome) ?? 0) + count)
  return [...counts].sort(([a, many], [b, others]) => others - many || (a < b ? -1 : 1))
}

function sum(rows: readonly Row[], key: 'count' | 'failed' | 'input' | 'output' | 'cached' | 'nanodollars'): number {
  return rows.reduce((all, row) => all + row[key], 0)
}

function percentiles(rows: readonly Row[]): Percentiles | undefined {
  const counted = rows.filter(({ count }) => count > 0).toSorted((a, b) => a.bucket - b.bucket)
  const total = sum(counted, 'count')
  if (total === 0) return undefined
  const at = (share: number): number => {
    let seen = 0
    const found = counted.find(({ count }) => {
      seen += count
      return seen >= share * total
    })
    return millisOfBucket(found?.bucket ?? 0)
  }
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) }
}
