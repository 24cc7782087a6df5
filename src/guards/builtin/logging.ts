import { type AnyHook, type Hook, type HookContext, PRIORITY, toStandardError } from '../hook.ts'
import { type EventOf, PHASE_NAMES, PHASES, type Phase } from '../phases.ts'
import { type BuiltinOptions, checkOptions, FUNCTION, SWITCH } from './options.ts'
import { EventTeller, type Told } from './told-of-event.ts'

/** Options of `logging`. */
export interface LoggingOptions extends BuiltinOptions {
  /** Log prompts, answers, arguments and results: masked, on one line, up to 2000 characters each. Default: false. */
  readonly content?: boolean | undefined
}

/** Options of `structuredLogging`. */
export interface StructuredLoggingOptions extends LoggingOptions {
  /** Receives a line, without a line break. Default: standard error. */
  readonly write?: ((line: string) => void) | undefined
}

/**
 * Logs one line for each phase: names, kinds, sizes and durations, and texts only with `content`. Calls blocked by a hook of
 * lower priority are not logged; they are in the trace.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function logging(options: LoggingOptions = {}): Hook<never> {
  checkOptions('logging', options, { content: SWITCH })
  return teller('logging', options, (phase, told, ctx) => {
    const words = Object.entries(told).flatMap(([key, value]) =>
      value === undefined ? [] : [`${key}=${shown(value)}`],
    )
    ctx.logger.info([PHASES[phase].word, ...words].join(' '))
  })
}

/**
 * Logs the same as a line of JSON: `time` (ISO 8601), `phase`, `host`, `session_id`, `turn_id`, `traceparent` and the fields of
 * the event. Keys are stable; new ones may be added.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function structuredLogging(options: StructuredLoggingOptions = {}): Hook<never> {
  checkOptions('structuredLogging', options, { content: SWITCH, write: FUNCTION })
  const { write = toStandardError } = options
  return teller('structured-logging', options, (phase, told, ctx) => {
    const { host, sessionId: session_id, turnId: turn_id, traceparent } = ctx
    const time = new Date().toISOString()
    write(JSON.stringify({ time, phase: PHASES[phase].word, host, session_id, turn_id, traceparent, ...told }))
  })
}

function teller(
  name: string,
  options: LoggingOptions,
  tell: (phase: Phase, told: Told, ctx: HookContext) => void,
): Hook<never> {
  const events = new EventTeller(options.content === true)
  const phases = PHASE_NAMES.map(phase => [
    phase,
    (event: EventOf<Phase>, ctx: HookContext): void => tell(phase, events.told(phase, event, ctx), ctx),
  ])
  const hook: AnyHook = {
    name: options.name ?? name,
    priority: options.priority ?? PRIORITY.observability,
    onFailure: options.onFailure ?? 'pass',
    decides: [],
    ...Object.fromEntries(phases),
  }
  return hook as Hook<never>
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/-]+$/.test(value) ? value : JSON.stringify(value)
}
