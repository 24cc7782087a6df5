import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PACKAGE_FOLDER } from '../wiring/package-facts.ts'
import type { PluginStats } from '../wiring/plugin.ts'
import type { TracePlace } from './trace-place.ts'

const COMPOSE_FILE = fileURLToPath(new URL('docker-compose.yml', PACKAGE_FOLDER))

/** Servers to look at traces in: profiles of the compose file, and types of backends. */
const SERVERS = [
  { name: 'Jaeger', type: 'jaeger', shownAt: 'http://127.0.0.1:16686' },
  { name: 'Phoenix', type: 'phoenix', shownAt: 'http://127.0.0.1:6006' },
] as const

interface Step {
  readonly label: string
  readonly command: string
  readonly outcome: string
}

/** Where the traces are, and what to do next: a line each, ready to be copied. */
export function nextSteps(stats: PluginStats, place: TracePlace): string {
  const again = { label: 'draw them again', command: 'npx hookspan tree', outcome: '' }
  // Not what has just been done.
  const others = SERVERS.filter(({ type }) => !stats.backends.some(each => each.type === type && each.delivered > 0))
  const steps: Step[] = [...(place.whyNotKept === undefined ? [again] : []), ...others.map(serverStep)]
  const labelWidth = Math.max(...steps.map(({ label }) => label.length))
  const commandWidth = Math.max(...steps.map(({ command }) => command.length))
  const lines = steps.map(({ label, command, outcome }) =>
    `  ${label.padEnd(labelWidth)}   ${command.padEnd(commandWidth)}  ${outcome}`.trimEnd(),
  )
  return `\n${[whereTheyAre(stats, place), '', ...lines].join('\n')}\n`
}

function whereTheyAre({ backends, traceFiles }: PluginStats, { whyNotKept }: TracePlace): string {
  const isStored = backends.some(({ type, delivered }) => type === 'local_log' && delivered > 0)
  const kept = isStored ? `Stored in ${traceFiles.at(-1)}` : 'Nothing is stored'
  const stored = whyNotKept === undefined ? kept : `Not stored, because ${whyNotKept}`
  const others = backends.filter(({ name }) => name !== 'local_log')
  // One that is sent metrics only has no spans to count.
  const reached = others.filter(each => each.delivered > 0 || (each.dropped === 0 && each.lastError === undefined))
  if (reached.length > 0) return `${stored}; sent to ${reached.map(({ name }) => name).join(', ')}.`
  return `${stored}; ${others.length === 0 ? 'nothing has left this machine' : 'no backend took anything'}.`
}

function serverStep({ name, type, shownAt }: (typeof SERVERS)[number]): Step {
  const start = `docker compose ${composeFileOption()}--profile ${type} up -d`
  return {
    label: `see them in ${name}`,
    command: `${start} && npx hookspan demo --backend ${type}`,
    outcome: `→ ${shownAt}`,
  }
}

/** Nothing in the directory where Docker finds the file by itself. */
function composeFileOption(): string {
  const path = relative(process.cwd(), COMPOSE_FILE)
  if (path === 'docker-compose.yml') return ''
  const shown = path.startsWith('..') ? COMPOSE_FILE : path
  return `-f ${/[^\w./-]/.test(shown) ? `'${shown}'` : shown} `
}
