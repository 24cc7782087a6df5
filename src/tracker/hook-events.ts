import type { Attributes } from '@opentelemetry/api'
import { peek, textOf, wholeOf } from '../contract/foreign.ts'
import type { HookResult } from '../contract/index.ts'
import type { Names } from '../contract/semconv/index.ts'
import type { AnyHookEvent, ReceivedHook } from './received-hook.ts'
import { iterationAttributes, turnEventAttributes } from './spans/session.ts'
import { skillLifecycle } from './spans/skill.ts'
import type { AttributeOptions } from './spans/span-definition.ts'
import type { TrackedSpan, TrackedTurn } from './turn.ts'
import type { TurnLifecycle } from './turn-lifecycle.ts'
import type { TurnRegistry } from './turn-registry.ts'

/** Handles records that neither start nor end a span: they add to an open one. */
export class HookEvents {
  readonly #attributeOptions: AttributeOptions
  readonly #registry: TurnRegistry
  readonly #lifecycle: TurnLifecycle

  constructor(attributeOptions: AttributeOptions, registry: TurnRegistry, lifecycle: TurnLifecycle) {
    this.#attributeOptions = attributeOptions
    this.#registry = registry
    this.#lifecycle = lifecycle
  }

  take(incoming: ReceivedHook): HookResult {
    const { event, ids, host } = incoming
    const turn = this.#registry.findOrIndex(host, ids, false)
    if (turn === undefined) return 'ignored'
    this.#lifecycle.touch(turn, event.at)
    switch (event.hook) {
      case 'on_stream_start':
      case 'on_stream_end':
        noteStream(turn, incoming)
        break
      case 'on_skill_lifecycle':
        this.#skill(turn, incoming)
        break
      case 'on_iteration_start':
        tellRoot(
          turn,
          incoming,
          this.#attributeOptions.names.own.eventIteration,
          iterationAttributes(event.payload, this.#attributeOptions),
        )
        break
      case 'on_turn_event':
        tellRoot(
          turn,
          incoming,
          this.#attributeOptions.names.own.eventOfTurn,
          turnEventAttributes(event, this.#attributeOptions),
        )
        break
      default:
        noteOffer(turn, incoming)
    }
    return 'ok'
  }

  #skill(turn: TrackedTurn, { event }: ReceivedHook): void {
    const name = this.#attributeOptions.names.own.eventSkillLifecycle
    if (name === '') return
    const span = (turn.innermost('tool') ?? turn.root)?.span
    span?.addEvent(name, skillLifecycle(event.payload, this.#attributeOptions), event.at)
  }
}

/** @param name empty if the configured conventions have no name for it */
function tellRoot(turn: TrackedTurn, { event }: ReceivedHook, name: string, facts: Attributes): void {
  if (name !== '') turn.root?.span.addEvent(name, facts, event.at)
}

/** Notes the stream of the open request. The record comes from a separate thread, so another request may be open by now. */
function noteStream(turn: TrackedTurn, { event }: ReceivedHook): void {
  const open = turn.innermost('api')
  if (open === undefined) return
  const iteration = wholeOf(event.payload['iteration'])
  const call = wholeOf(peek(open.start, 'api_call_count'))
  if (iteration !== undefined && call !== undefined && iteration !== call) return
  open.streamEnd =
    event.hook === 'on_stream_start' ? undefined : { at: event.at, error: textOf(event.payload['error']) }
}

/** Hosts emit this hook for every result and every answer, changed or not. The text is kept and compared at the end. */
function noteOffer(turn: TrackedTurn, { event, ids }: ReceivedHook): void {
  const isTool = event.hook === 'transform_tool_result'
  const open = isTool ? turn.openTool(ids.toolCallId) : turn.root
  const text = event.payload[isTool ? 'result' : 'response_text']
  if (open !== undefined && typeof text === 'string') open.transformable = { at: event.at, text }
}

/** Adds an event at the end of a tool or of the loop if its text differs from the text that was offered for changes. */
export function noteTransformed(open: TrackedSpan, { payload }: AnyHookEvent, { own }: Names): void {
  const isTool = open.kind === 'tool'
  const target = isTool ? open : open.kind === 'llm' ? open.turn.root : undefined
  const text = payload[isTool ? 'result' : 'assistant_response']
  if (target?.transformable === undefined || typeof text !== 'string' || target.transformable.text === text) return
  const name = isTool ? own.eventToolResultTransformed : own.eventOutputTransformed
  if (name !== '') target.span.addEvent(name, {}, target.transformable.at)
}
