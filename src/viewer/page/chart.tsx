import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { Chart } from './chart-data.ts'

const HEIGHT = 200
const COLOURS = ['--kind-api', '--kind-approval', '--kind-tool', '--kind-subagent', '--kind-skill', '--dim'] as const

/** A line chart over days on a canvas. Hidden from screen readers, because the table beside it has the same data. */
export function LineChart({ chart }: { readonly chart: Chart }): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const plot = new uPlot(optionsOf(chart, element), dataOf(chart), element)
    element.style.color = ''
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [chart])
  return <div ref={box} class="chart-room" aria-hidden="true" />
}

function dataOf({ days, lines }: Chart): uPlot.AlignedData {
  return [days.map(day => Date.parse(day) / 1000), ...lines.map(({ values }) => [...values])]
}

function optionsOf({ days, lines, text, isCount }: Chart, element: HTMLElement): uPlot.Options {
  const colour = (name: string): string => {
    element.style.color = `var(${name})`
    // A canvas does not read `var()` and `light-dark()`.
    return getComputedStyle(element).color
  }
  const axis = { stroke: colour('--dim'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    tzDate: time => uPlot.tzDate(new Date(time * 1000), 'UTC'),
    cursor: { y: false },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, splits: () => axisDays(days), values: (_, times) => times.map(time => dayOf(time).slice(5)) },
      { ...axis, size: 70, values: (_, values) => values.map(text), ...(isCount && { incrs: WHOLE_STEPS }) },
    ],
    series: [
      { label: 'day', value: (_, time) => (time === null ? '' : dayOf(time)) },
      ...lines.map(({ label }, index) => ({
        label,
        stroke: colour(COLOURS[index % COLOURS.length] ?? '--dim'),
        width: 2,
        // A day without requests has no latency, but must not interrupt the line.
        spanGaps: true,
        points: { show: days.length < 40, size: 6 },
        value: (_: uPlot, value: number | null) => (value === null ? '' : text(value)),
      })),
    ],
  }
}

const WHOLE_STEPS = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map(step => step * 10 ** power)).flat()
const MAX_DAYS = 7

function axisDays(days: readonly string[]): number[] {
  const step = Math.ceil(days.length / MAX_DAYS)
  return days.filter((_, index) => index % step === 0).map(day => Date.parse(day) / 1000)
}

function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10)
}
