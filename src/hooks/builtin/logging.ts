import { type AnyHook, type Hook, type HookContext, PRIORITY, toStandardError } from '../hook.ts'
import { type EventOf, PHASE_NAMES, PHASES, type Phase } from '../phases.ts'
import { type BuiltinOptions, checkOptions, FUNCTION, SWITCH } from './options.ts'
import { EventTeller, type Told } from './told-of-event.ts'

/** What is logged. */
export interface LoggingOptions extends BuiltinOptions {
  /** Whether texts are logged: prompts, answers, arguments, results; masked, on one line, 2000 characters of each. Default: no. */
  readonly content?: boolean | undefined
}

/** What is logged, and where to. */
export interface StructuredLoggingOptions extends LoggingOptions {
  /** Takes a line, without a line break. Default: standard error. */
  readonly write?: ((line: string) => void) | undefined
}

/**
 * A line for each phase, where the person reads what hooks have to say: names, kinds, sizes and durations, and no texts unless they
 * are asked for. What a hook of lower priority has blocked before is not seen here; it is in the trace.
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
 * The same as a line of JSON each: `time` (ISO 8601), `phase`, `host`, `session_id`, `turn_id`, `traceparent`, and what there is of
 * the event. Keys stay what they are; there may be more of them.
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
