/** One event of an agent's hook. */
export interface HookEvent {
  /** The receiver's endpoint: `/claude-code` */
  readonly path: string
  /** Epoch milliseconds. */
  readonly at: number
  /** Events with the same id are recorded once. */
  readonly id: string
  /** The agent's input, unparsed. */
  readonly body: Buffer
  /** The span that the agent was started in: W3C `traceparent`. */
  readonly traceparent: string | undefined
}
