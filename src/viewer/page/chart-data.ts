import { humanDuration } from '../../reading/human-figures.ts'
import type { ModelFigures, UsageNumbers } from '../server/api.ts'
import { percent, shortCount } from './formats.ts'

export interface Chart {
  readonly title: string
  readonly days: readonly string[]
  readonly lines: readonly { readonly label: string; readonly values: readonly (number | null)[] }[]
  readonly text: (value: number) => string
  /** The values are counts: a day without data is 0, not a gap. */
  readonly isCount: boolean
}

const DAY_MILLIS = 86_400_000
/** More lines are hard to distinguish. */
const MAX_MODELS = 6
/** Guards against a wrong clock, which could make a million days. */
const MAX_DAYS = 1_000

export function chartsOf({ days: figures, models: all }: UsageNumbers): Chart[] {
  const days = everyDay(figures.map(({ day }) => day))
  const models = all.slice(0, MAX_MODELS).map(({ model }) => model)
  const chart = (title: string, text: Chart['text'], isCount: boolean, figure: FigureOf): Chart => {
    const lines = models.map(model => {
      const byDay = new Map(figures.filter(each => each.model === model).map(each => [each.day, each]))
      const valueOn = (day: string): number | null => {
        const figures = byDay.get(day)
        return (figures && figure(figures)) ?? (isCount ? 0 : null)
      }
      return { label: model || 'no model', values: days.map(valueOn) }
    })
    return { title, days, lines, text, isCount }
  }
  return [
    chart('Tokens per day', shortCount, true, ({ tokens }) => tokens.input + tokens.output),
    chart('Requests per day', shortCount, true, ({ requestCount }) => requestCount),
    chart('Request latency, p50', humanDuration, false, ({ latency }) => latency?.p50),
    chart('Request latency, p90', humanDuration, false, ({ latency }) => latency?.p90),
    chart('Request errors per day', shortCount, true, ({ errorCount }) => errorCount),
    chart('Cached share of the input', percent, false, ({ tokens, cachedTokens }) =>
      tokens.input === 0 ? undefined : Math.min(1, cachedTokens / tokens.input),
    ),
  ]
}

type FigureOf = (of: ModelFigures) => number | undefined

function everyDay(days: readonly string[]): string[] {
  const times = days.map(day => Date.parse(day)).filter(time => !Number.isNaN(time))
  if (times.length === 0) return []
  const [first, last] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))]
  const count = Math.min(MAX_DAYS, Math.round((last - first) / DAY_MILLIS) + 1)
  return Array.from({ length: count }, (_, index) =>
    new Date(last - (count - 1 - index) * DAY_MILLIS).toISOString().slice(0, 10),
  )
}
