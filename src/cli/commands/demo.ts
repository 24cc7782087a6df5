import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Command, type CommandIo, EXIT, runCommand, WrongUse } from '../command.ts'
import { openInput, type ReadRecord, RecordReader } from '../hook-records.ts'
import { drawTraces, reportDelivery } from '../replay-report.ts'
import { Replayer } from '../replayer.ts'

const USAGE = `Usage: hookspan demo [--backend TYPE[=URL]]

Replays two bundled recordings through the plugin, as if the agents had just run: into the local trace log, and into the
configured backends if there are any. Draws the traces and says where they are.

  --backend TYPE[=URL]  send to this backend, too; may be given more than once. For example: --backend jaeger
`

/** Beside the code in the package: a real turn of Hermes, and a longer session. */
const RECORDINGS = ['hermes-turn.jsonl', 'demo-session.jsonl']
const DRAWN_TRACES = 10

export const demo: Command = { name: 'demo', summary: 'see traces without an agent, a server or an account', usage: USAGE, run }

export function run(args: string[], io: CommandIo): Promise<number> {
  return runCommand(demo, args, io, () => show(readBackends(args), io))
}

function readBackends(args: string[]): readonly string[] {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { backend: { type: 'string', multiple: true, default: [] } },
  })
  if (positionals.length > 0) throw new WrongUse(`expected no argument, got ${JSON.stringify(positionals[0])}`)
  return values.backend
}

async function readRecording(name: string, io: CommandIo): Promise<ReadRecord[]> {
  const path = fileURLToPath(new URL(`../../../fixtures/${name}`, import.meta.url))
  const records: ReadRecord[] = []
  for await (const entry of new RecordReader(undefined).read(openInput(path, io.stdin))) {
    if ('record' in entry) records.push(entry.record)
  }
  return records
}

const SECONDS_FIELDS = ['started_at', 'ended_at', 'first_chunk_at']

/** Moves a record in time: servers show the last hour first, and a trace of long ago looks like none. */
function movedBy(millis: number, { hook, payload, meta }: ReadRecord): ReadRecord {
  const moved: Record<string, unknown> = { ...(payload as Record<string, unknown>) }
  for (const field of SECONDS_FIELDS) {
    if (typeof moved[field] === 'number') moved[field] = moved[field] + millis / 1000
  }
  return { hook, payload: moved, meta: { ...meta, at: (meta.at ?? 0) + millis } }
}

async function show(backends: readonly string[], io: CommandIo): Promise<number> {
  // Ids are new each time: the same ids at another time would be two traces in one for a server.
  const plugin = { host: 'demo', service_name: 'hookspan-demo', deterministic_ids: false, ...(backends.length === 0 ? {} : { backends }) }
  const replayer = new Replayer({ plugin, speed: undefined }, io)
  const recordings = await Promise.all(RECORDINGS.map(name => readRecording(name, io)))
  const lastAt = Math.max(...recordings.flat().map(({ meta }) => meta.at ?? 0))
  const shift = Math.round(io.now()) - lastAt
  for (const record of recordings.flat()) await replayer.feed(movedBy(shift, record))
  const stats = await replayer.finish()
  if (stats.traceFile !== undefined) await drawTraces(stats.traceFile, DRAWN_TRACES, io)
  const isDelivered = reportDelivery(stats, io)
  io.stdout.write(`${whereNext(stats.traceFile, io)}\n`)
  return isDelivered ? EXIT.ok : EXIT.failed
}

function whereNext(traceFile: string | undefined, { env }: CommandIo): string {
  const call = env['npm_lifecycle_event'] === 'demo' ? 'npm run demo --' : 'npx hookspan demo'
  const stored = traceFile === undefined ? 'Nothing is stored: local_log is off.' : `Stored in ${traceFile} and nowhere else unless you configured it.`
  return [
    '',
    `${stored} "npx hookspan tree" draws it again.`,
    `To see it in Jaeger:   docker compose --profile jaeger up -d && ${call} --backend jaeger    → http://127.0.0.1:16686`,
    `To see it in Phoenix:  docker compose --profile phoenix up -d && ${call} --backend phoenix  → http://127.0.0.1:6006`,
  ].join('\n')
}
