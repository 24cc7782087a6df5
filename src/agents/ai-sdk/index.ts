import { AsyncLocalStorage } from 'node:async_hooks'
import { idOf, numberOf, peek } from '../../contract/foreign.ts'
import type { PluginOptions } from '../../index.ts'
import { type Attachment, attachHost, sharedInProcess } from '../attach.ts'
import { AiSdkMachine } from './events.ts'
import { type AiSdkEvent, type AiSdkTelemetry, EVENT_FIELDS, plainError } from './types.ts'

export type { AiSdkEvent, AiSdkExecution, AiSdkTelemetry } from './types.ts'

/** The SDK does not report in which tool a call is made: only the async context, shared by copies of this package, shows it. */
const CALLER = Symbol.for('hookspan.ai-sdk.caller')

type Caller = Readonly<Record<'callId' | 'toolCallId', string>>

/**
 * Creates a telemetry integration for the AI SDK.
 *
 * @example
 * import { registerTelemetry } from 'ai'
 * import { createTelemetry } from 'hookspan/ai-sdk'
 * registerTelemetry(createTelemetry())
 */
export function createTelemetry(options?: PluginOptions): AiSdkTelemetry {
  const attachment = attachHost('ai-sdk', () => new AiSdkMachine(), options)
  const caller = sharedInProcess(CALLER, () => new AsyncLocalStorage<Caller>())
  const listeners = Object.entries(EVENT_FIELDS).map(([name, names]) => {
    const fields = names.split(/\s+/)
    const listener = (event: unknown): void =>
      attachment.catchErrors(() => {
        const context = name === 'onStart' ? caller.getStore() : undefined
        // A run that spanned several processes is reported afterwards, with its original timestamps.
        emitEvent(attachment, name, plainFields(event, fields), context, numberOf(peek(event, 'timestamp')))
      })
    return [name, listener]
  })
  return {
    ...(Object.fromEntries(listeners) as Record<AiSdkEvent, (event: unknown) => void>),
    executeLanguageModelCall: ({ callId, execute }) => {
      emitEvent(attachment, 'attemptStart', { callId })
      const running = execute()
      // The SDK receives the original promise, not a derived one.
      running.then(undefined, error => emitEvent(attachment, 'attemptError', { callId, error: plainError(error) }))
      return running
    },
    executeTool: ({ callId, toolCallId, execute }) => caller.run({ callId, toolCallId }, execute),
    flush: () => attachment.plugin.flush(),
  }
}

function plainFields(event: unknown, fields: readonly string[]): object {
  const data: Record<string, unknown> = {}
  for (const field of fields) {
    const value = peek(event, field)
    if (value !== undefined) data[field] = PLAIN.get(field)?.(value) ?? value
  }
  return data
}

function emitEvent(attachment: Attachment, event: string, data: object, context?: Caller, at = Date.now()): void {
  const told = { event, at, data, ...(context === undefined ? {} : { context }) }
  attachment.handleEvent(told, idOf(peek(data, 'callId')))
}

const PLAIN: ReadonlyMap<string, (value: unknown) => unknown> = new Map([
  ['error', plainError],
  ['toolOutput', plainOutput],
])

function plainOutput(output: unknown): unknown {
  const { error, ...rest } = { ...(output as object) } as { error?: unknown }
  return error === undefined ? rest : { ...rest, error: plainError(error) }
}
