import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { createRedactor } from '../../content/redaction.ts'
import { elementsOf, idOf, isArray, peek } from '../../contract/foreign.ts'
import { GEN_AI, GENERAL, MCP, OPERATION } from '../../contract/semconv/index.ts'
import { callerOf, httpFacts } from './caller.ts'

const METHOD = 'tools/call'
const CANCELLED = 'notifications/cancelled'
/** A version is a date. Other values are not recorded. */
const PROTOCOL_VERSION = /^\d{4}-\d{2}-\d{2}$/
/** The protocol's format of tool names. A client may send any text. */
const TOOL_NAME = /^[\w./-]{1,128}$/
const TOOL_ERROR = 'tool_error'
const CLOSED = 'connection_closed'
/** Limits the open calls of a connection. Beyond it, the oldest call is ended. */
const OPEN_LIMIT = 1000

const redact = createRedactor({ enabled: true, patterns: [] })

/** The open calls of one server connection. Never throws. */
export class ServerCalls {
  readonly #open = new Map<unknown, Span>()
  readonly #tracer: () => Tracer
  readonly #sessionId: () => string | undefined
  readonly #isStdio: boolean
  /** From the answer to `initialize`. A server without sessions may never see one. */
  #version: unknown

  constructor(tracer: () => Tracer, sessionId: () => string | undefined, isStdio: boolean) {
    this.#tracer = tracer
    this.#sessionId = sessionId
    this.#isStdio = isStdio
  }

  /** Handles an incoming message. @returns the context for handling it, if it is a call */
  began(message: unknown, extra: unknown): Context | undefined {
    try {
      const method = peek(message, 'method')
      if (method === CANCELLED) this.#end(peek(peek(message, 'params'), 'requestId'))
      const id = peek(message, 'id')
      return method === METHOD && isId(id) ? this.#begin(id, message, extra) : undefined
    } catch {
      return undefined
    }
  }

  /** Handles an outgoing message, which may be the answer to a call. */
  answered(message: unknown): void {
    try {
      const all = isArray(message) ? elementsOf(message, OPEN_LIMIT) : [message]
      for (const each of all) {
        if (peek(each, 'method') !== undefined) continue
        this.#version = peek(peek(each, 'result'), 'protocolVersion') ?? this.#version
        this.#end(peek(each, 'id'), failureIn(each))
      }
    } catch {
      // The answer must be sent even so.
    }
  }

  endAll(): void {
    for (const id of [...this.#open.keys()]) this.#tryEnd(id, { [GENERAL.errorType]: CLOSED })
  }

  #begin(id: string | number, message: unknown, extra: unknown): Context {
    // A repeated id: its first answer was never sent.
    this.#end(id, { [GENERAL.errorType]: CLOSED })
    const [oldest] = this.#open.keys()
    if (this.#open.size >= OPEN_LIMIT) this.#end(oldest)
    const tool = toolName(peek(peek(message, 'params'), 'name'))
    const caller = callerOf(message, extra)
    const span = this.#tracer().startSpan(
      tool === undefined ? METHOD : `${METHOD} ${tool}`,
      {
        kind: SpanKind.SERVER,
        attributes: { ...attributesOf(id, tool, this.#sessionId()), ...this.#connectionOf(extra) },
        links: caller.linked ? [{ context: caller.linked }] : [],
      },
      caller.context,
    )
    this.#open.set(id, span)
    return trace.setSpan(caller.context, span)
  }

  #connectionOf(extra: unknown): Attributes {
    const { transport = this.#isStdio ? 'pipe' : undefined, version = this.#version } = httpFacts(extra)
    return {
      ...(transport === undefined ? {} : { [MCP.networkTransport]: transport }),
      ...(typeof version === 'string' && PROTOCOL_VERSION.test(version) ? { [MCP.protocolVersion]: version } : {}),
    }
  }

  #tryEnd(id: unknown, failure?: Attributes): void {
    try {
      this.#end(id, failure)
    } catch {
      // A span processor that throws must not affect the server.
    }
  }

  #end(id: unknown, failure?: Attributes): void {
    const span = this.#open.get(id)
    if (span === undefined) return
    this.#open.delete(id)
    if (failure !== undefined) span.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }
}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' || typeof id === 'number'
}

function toolName(name: unknown): string | undefined {
  return typeof name === 'string' && TOOL_NAME.test(name) && redact(name) === name ? name : undefined
}

function attributesOf(id: string | number, tool: string | undefined, session: string | undefined): Attributes {
  return {
    [MCP.methodName]: METHOD,
    [GEN_AI.operationName]: OPERATION.executeTool,
    ...(tool === undefined ? {} : { [GEN_AI.toolName]: tool }),
    [MCP.requestId]: idOf(id) ?? '',
    ...(session === undefined ? {} : { [MCP.sessionId]: session }),
  }
}

/** A failed tool returns a normal answer with `isError`. A request refused earlier is a protocol error. */
function failureIn(answer: unknown): Attributes | undefined {
  const code = idOf(peek(peek(answer, 'error'), 'code'))
  if (code !== undefined) return { [GENERAL.errorType]: code }
  return peek(peek(answer, 'result'), 'isError') === true ? { [GENERAL.errorType]: TOOL_ERROR } : undefined
}
