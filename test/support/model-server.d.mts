import type { IncomingHttpHeaders } from 'node:http'

export interface ModelRequest {
  readonly api: 'chat' | 'responses' | 'messages'
  readonly model: string
  readonly stream: boolean
  /** Names of the tools that were offered. */
  readonly tools: readonly string[]
  readonly system: string
  /**
   * The prompt that is being worked on: the last message of the user, not counting what a host adds after tool results
   * that the model has not answered yet, without what Claude and OpenClaw write around it and beside it. Its parts are
   * joined by line breaks. Else as the host sends it: `opencode run` puts it into quotes.
   */
  readonly prompt: string
  /** Results of tools anywhere after the prompt. */
  readonly toolResults: number
  /** Those of them that the model has not answered yet. */
  readonly lastToolResults: readonly { readonly id: string; readonly text: string }[]
  /**
   * How often a conversation that had come so far was sent, from 1: the same prompt, tools, results and number of answers.
   * So `attempt === 1 ? { status: 500 } : { text: 'yes' }` is one failure and then success.
   */
  readonly attempt: number
  /** The whole conversation, for a script that has to know better. Parts of one message have the same `message`. */
  readonly items: readonly {
    readonly kind: 'system' | 'user' | 'answer' | 'result'
    readonly text: string
    readonly message: number
    /** Of the call that a result answers. */
    readonly id?: string
  }[]
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

export interface ModelToolCall {
  readonly name: string
  /** Of a tool of Codex that is offered in a group; only in the protocol of responses. */
  readonly namespace?: string
  /** A text is sent as it stands, so that it may be no JSON; not in the protocol of Anthropic. */
  readonly arguments?: Readonly<Record<string, unknown>> | string
  readonly id?: string
}

/** Without text, tool calls, refusal and status it says "Hello from the model." */
export interface ModelReply {
  readonly text?: string
  readonly thinking?: string
  readonly toolCalls?: readonly ModelToolCall[]
  readonly refusal?: string
  /** The answer ended because it had as many tokens as it may have. */
  readonly isCutOff?: boolean
  /** An answer that is an error, in the shape of the protocol. */
  readonly status?: number
  /** Message of that error. */
  readonly error?: string
  /** Before the first byte. */
  readonly delayMillis?: number
  /** Between the headers and the first byte of the body. */
  readonly firstChunkDelayMillis?: number
  /** The connection is cut in the middle of the answer. */
  readonly truncate?: boolean
  /** Default: 120 prompt with 20 of them from the cache, 17 completion with 3 of them reasoning. */
  readonly usage?: {
    /** All of the input, with what came from the cache or went into it. */
    readonly prompt?: number
    readonly cached?: number
    /** Only Anthropic tells it. */
    readonly cacheWrite?: number
    /** All of the output, with the reasoning. */
    readonly completion?: number
    readonly reasoning?: number
  }
}

export interface ModelServer {
  readonly port: number
  /** Without `/v1`. */
  readonly url: string
  /** Those to a model, in order. */
  readonly requests: readonly ModelRequest[]
  /** Any others: lists of models, counts of tokens, what is not known. */
  readonly others: readonly { readonly method: string; readonly path: string }[]
  /** @throws what the answer script threw, if it did */
  close(): Promise<void>
}

/**
 * A model provider on loopback that answers as a test says: chat completions and responses of OpenAI, messages of
 * Anthropic, streaming and not.
 */
export function startModelServer(
  answer: (request: ModelRequest) => ModelReply | undefined | Promise<ModelReply | undefined>,
  options?: { readonly port?: number },
): Promise<ModelServer>
