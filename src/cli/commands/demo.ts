import { createReadStream } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { resolveConfig } from '../../plugin/config/resolve.ts'
import type { KeyName, UserConfig } from '../../plugin/config/types.ts'
import type { PluginStats } from '../../plugin/plugin.ts'
import { shortTraceId } from '../../reading/tree-header.ts'
import { type Command, type CommandIo, command, EXIT, shellQuoted } from '../command.ts'
import { type ReadRecord, RecordReader } from '../hook-records.ts'
import { BACKEND_OPTION, checkBackends } from '../option-values.ts'
import { PACKAGE_FOLDER } from '../package-folder.ts'
import { type Replayer, replayAndDraw, summaryOf } from '../replay.ts'
import { Progress } from '../terminal.ts'

const RECORDINGS = ['hermes-turn.jsonl', 'demo-session.jsonl']
const DRAWN_TRACES = 10

export const demo: Command = command({
  name: 'demo',
  about: `Replays two bundled recordings of agents through the plugin, as if they had just run: into the local trace log,
and to the configured backends if there are any. Prints the traces and where they are stored.

The recordings are fictional, so their messages are stored and sent in full (content_capture: full), unless your
configuration or environment sets something else.`,
  options: { backend: BACKEND_OPTION },
  closing: 'Exits with 1 if a backend did not receive everything.',
  run: ({ values }, io) => show(checkBackends(values.backend), io),
})

async function show(backends: readonly string[], io: CommandIo): Promise<number> {
  const { config, sources } = resolveConfig({ env: io.env, home: io.home })
  const isUnset = (key: KeyName): boolean => sources.get(key)?.from === 'default'
  // Costs are recorded if the spans stay on this machine. Backends receive what the user has configured.
  const isPriced = isUnset('prices') && config.backends.length + backends.length === 0
  // A user's setting wins; a default of `off` is one that is unreadable.
  const isWhole = isUnset('content_capture') && config.content_capture !== 'off'
  const code: UserConfig = {
    service_name: 'hookspan-demo',
    // New ids each time: a server would merge two demos with the same ids into one trace.
    deterministic_ids: false,
    ...(isWhole && { content_capture: 'full' }),
    ...(isPriced && { prices: DEMO_PRICES }),
    ...(backends.length > 0 && { backends }),
  }
  const feed = (replayer: Replayer): Promise<true> => feedRecordings(replayer, io)
  const run = await replayAndDraw(code, { progress: new Progress(io), feed, drawnTraces: DRAWN_TRACES }, io)
  if (run.exitCode === undefined) io.stdout.write(nextSteps(run))
  else io.stderr.write(`${run.begins}${summaryOf(run.result)}; ${run.where}\n`)
  return run.exitCode ?? (run.isDelivered ? EXIT.ok : EXIT.failed)
}

/** One of the recorded agents uses a model of its own server. */
const DEMO_PRICES = { 'custom/*': 0 } as const

async function feedRecordings(replayer: Replayer, io: CommandIo): Promise<true> {
  const records: ReadRecord[] = []
  for (const name of RECORDINGS) {
    const input = createReadStream(fileURLToPath(new URL(`fixtures/${name}`, PACKAGE_FOLDER)))
    for await (const entry of new RecordReader(undefined).read(input)) {
      if ('record' in entry) records.push(entry.record)
    }
  }
  const lastAt = Math.max(...records.map(({ meta }) => meta.at ?? 0))
  const shift = Math.round(io.now()) - lastAt
  for (const { hook, payload, meta } of records) {
    // Servers show the last hour first, so an old trace would be missing there.
    const moved: Record<string, unknown> = { ...(payload as Record<string, unknown>) }
    for (const field of SECONDS_FIELDS) {
      if (typeof moved[field] === 'number') moved[field] = moved[field] + shift / 1000
    }
    await replayer.feed({ hook, payload: moved, meta: { ...meta, at: (meta.at ?? 0) + shift } })
  }
  return true
}

const SECONDS_FIELDS = ['started_at', 'ended_at', 'first_chunk_at']

const COMPOSE_FILE = fileURLToPath(new URL('docker-compose.yml', PACKAGE_FOLDER))

const SERVERS = [
  { name: 'Jaeger', type: 'jaeger', shownAt: 'http://127.0.0.1:16686' },
  { name: 'Phoenix', type: 'phoenix', shownAt: 'http://127.0.0.1:6006' },
] as const

function nextSteps({ result, traceId = '', isStored, where }: Awaited<ReturnType<typeof replayAndDraw>>): string {
  const { backends } = result.stats
  const here: [label: string, command: string, outcome: string][] = [
    ['print them again', 'npx hookspan tree', ''],
    ['show the last one', `npx hookspan tree ${shortTraceId(traceId)}`, ''],
    ['open the dashboard', 'npx hookspan view --open', ''],
  ]
  const steps = isStored ? here : []
  for (const { name, type, shownAt } of SERVERS) {
    if (backends.some(each => each.type === type && each.delivered > 0)) continue
    const start = `docker compose ${composeFileOption()}--profile ${type} up -d`
    steps.push([`open them in ${name}`, `${start} && npx hookspan demo --backend ${type}`, `→ ${shownAt}`])
  }
  const labelWidth = Math.max(...steps.map(([label]) => label.length))
  const commandWidth = Math.max(...steps.map(([, command]) => command.length))
  const lines = steps.map(([label, command, outcome]) =>
    `  ${label.padEnd(labelWidth)}   ${command.padEnd(commandWidth)}  ${outcome}`.trimEnd(),
  )
  return `\n${where.charAt(0).toUpperCase()}${where.slice(1)}; ${sentTo(backends)}.\n\n${lines.join('\n')}\n`
}

function sentTo(backends: PluginStats['backends']): string {
  const others = backends.filter(({ name }) => name !== 'local_log')
  // A backend for metrics only has no spans to count.
  const reached = others.filter(each => each.delivered > 0 || (each.dropped === 0 && each.lastError === undefined))
  if (reached.length > 0) return `sent to ${reached.map(({ name }) => name).join(', ')}`
  return others.length === 0 ? 'nothing has left this machine' : 'no backend received anything'
}

/** Empty in the directory where Docker finds the file by default. */
function composeFileOption(): string {
  const path = relative(process.cwd(), COMPOSE_FILE)
  if (path === 'docker-compose.yml') return ''
  const shown = path.startsWith('..') ? COMPOSE_FILE : path
  return `-f ${shellQuoted(shown)} `
}
