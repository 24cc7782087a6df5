import { idOf, numberOf, peek, textOf } from '../contract/foreign.ts'
import type { HookMeta, HookRecord } from '../contract/index.ts'
import type { HostMachine } from './host-event.ts'
import type { ReceiverAdapter } from './receiver-adapter.ts'

/** Endpoint for agents that emit hook records themselves: the body is one record, or a list of them. */
export const hookRecords: ReceiverAdapter = {
  events: ({ body, at }) =>
    (Array.isArray(body) ? body : [body]).map((record: unknown) => ({
      event: textOf(peek(record, 'hook')) ?? 'unreadable',
      at: numberOf(peek(record, 'at')) ?? at,
      data: peek(record, 'payload'),
      context: {
        host: textOf(peek(record, 'host')),
        delivery_id: idOf(peek(record, 'delivery_id')),
        correlation: peek(record, 'correlation'),
      },
    })),
}

/** The machine of all hosts that emit hook records. The core validates their contents. */
export const hookRecordMachine: HostMachine = {
  accept: ({ event, at, data, context }) => {
    const { host, delivery_id, correlation } = (context ?? {}) as HookMeta
    return [{ hook: event, payload: data, at, host, delivery_id, correlation } as HookRecord]
  },
  end: () => [],
}
