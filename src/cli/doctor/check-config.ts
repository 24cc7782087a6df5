import type { ConfigProblem } from '../../plugin/config/reading.ts'
import { type ShownKey, showConfig, usualPlace } from '../../plugin/config/show.ts'
import type { KeyName, Resolution } from '../../plugin/config/types.ts'
import type { CommandIo } from '../command.ts'
import { type DoctorFinding, finding } from './finding.ts'

export interface ConfigFacts {
  readonly file: string | undefined
  readonly values: readonly ShownKey[]
  readonly problems: readonly ConfigProblem[]
}

export function readConfigFacts(resolution: Resolution): ConfigFacts {
  const values = showConfig(resolution).filter(({ source }) => !/^default\b/.test(source))
  return { file: resolution.file, values: values.map(fromCommandLine), problems: resolution.problems }
}

/** `--backend` is the only option of this command that sets a key. */
function fromCommandLine(shown: ShownKey): ShownKey {
  return shown.source === 'code' ? { ...shown, source: '--backend' } : shown
}

export function checkConfig(facts: ConfigFacts, resolution: Resolution, io: CommandIo): readonly DoctorFinding[] {
  const file = facts.file === undefined ? `no file; ${usualPlace(io.env, io.home)}` : `${facts.file} is used`
  return [finding('ok', 'Configuration', file), ...facts.problems.map(problemFinding), ...intentions(resolution)]
}

function problemFinding({ level, message }: ConfigProblem): DoctorFinding {
  const what = message.replace(/^config: /, '')
  const advises = /did you mean|chmod/.test(what)
  const remedy = advises ? undefined : 'correct it; "hookspan config" prints the effective configuration'
  return finding(level === 'error' ? 'fail' : 'warn', 'Configuration', what, remedy)
}

function intentions({ config, sources }: Resolution): DoctorFinding[] {
  const found: DoctorFinding[] = []
  const say = (level: 'note' | 'warn', key: KeyName, what: string, remedy: string): void => {
    found.push(finding(level, 'Configuration', `${what} (${sources.get(key)?.detail ?? 'default'})`, remedy))
  }
  if (!config.enabled) say('warn', 'enabled', 'nothing is recorded: hookspan is disabled', 'set enabled to true')
  const share = config.sample_rate ?? 1
  if (share === 0) say('warn', 'sample_rate', 'no trace is recorded: sample_rate is 0', 'raise sample_rate')
  else if (share < 1)
    say('note', 'sample_rate', `about ${percent(share)} % of traces are recorded`, 'raise sample_rate for more')
  if (config.local_log) return found
  const goesNowhere = config.backends.length === 0
  const fate = goesNowhere
    ? 'traces are not stored or sent: no backend is configured, and'
    : 'spans that a backend does not accept are dropped:'
  say(goesNowhere ? 'warn' : 'note', 'local_log', `${fate} local_log is off`, 'set local_log to true')
  return found
}

function percent(share: number): string {
  const figure = share * 100
  return figure < 1 ? figure.toPrecision(1) : String(Math.round(figure))
}
