import { parseArgs } from 'node:util'
import { BACKEND_OPTION, checkBackends } from '../backend-option.ts'
import { type Command, type CommandIo, EXIT, runCommand, WrongUse } from '../command.ts'
import { type ExaminationOptions, examine } from '../doctor/examination.ts'
import { isWrong } from '../doctor/finding.ts'
import { reportJson } from '../doctor/report-json.ts'
import { reportText } from '../doctor/report-text.ts'
import { lookOf } from '../look.ts'
import { Progress } from '../progress.ts'

const USAGE = `Usage: hookspan doctor [--json] [--wait MS] [--backend TYPE[=URL]] [--offline]

Checks that traces arrive, and says what to do where they do not. Sends one span named hookspan.doctor to each configured
backend, and one point of the counter hookspan.doctor.probes where it takes metrics, then asks for the span again where
the backend has an API for that. Also looks at the configuration, the trace log, its backlog and losses, clocks, proxy
variables and Node.

  --offline             send nothing: only look at this machine
  --wait MS             how long a backend may take to show the span (default 5000)
  --backend TYPE[=URL]  probe this backend instead of the configured ones; may be given more than once
  --json                one JSON object: {"ok", "version", "node", "config", "backends", "backlog", "losses", "findings"}

Exits with 1 when something is wrong; warnings alone are no reason to.
`

/** Keeps the process alive: the requests of the pipeline do not. */
const LONG_MILLIS = 60_000

export const doctor: Command = {
  name: 'doctor',
  summary: 'prove that traces arrive, and say what to do where they do not',
  usage: USAGE,
  run,
}

/** Resolves to the exit code: 1 when something is wrong. */
export function run(args: string[], io: CommandIo): Promise<number> {
  return runCommand(doctor, args, io, async () => {
    const { json, ...options } = readOptions(args)
    const alive = setInterval(() => undefined, LONG_MILLIS)
    try {
      const examination = await watched(options, io)
      const report = json ? `${reportJson(examination)}\n` : reportText(examination, lookOf(io).color)
      io.stdout.write(report)
      return examination.findings.some(isWrong) ? EXIT.failed : EXIT.ok
    } finally {
      clearInterval(alive)
    }
  })
}

function readOptions(args: string[]): ExaminationOptions & { readonly json: boolean } {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      offline: { type: 'boolean', default: false },
      wait: { type: 'string', default: '5000' },
      backend: BACKEND_OPTION,
    },
  })
  if (positionals.length > 0) throw new WrongUse(`expected no argument, got ${JSON.stringify(positionals[0])}`)
  if (!/^\d{1,7}$/.test(values.wait)) {
    throw new WrongUse(`--wait takes milliseconds, got ${JSON.stringify(values.wait)}`)
  }
  const { json, offline, wait } = values
  return { json, isOffline: offline, waitMillis: Number(wait), backends: checkBackends(values.backend) }
}

async function watched(options: ExaminationOptions, io: CommandIo): ReturnType<typeof examine> {
  const progress = new Progress(() => 0, io)
  if (!options.isOffline) progress.say('probing …')
  try {
    return await examine(options, io)
  } finally {
    progress.end()
  }
}
