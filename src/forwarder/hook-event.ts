/** One hook that fired, as an agent told it. */
export interface HookEvent {
  /** The receiver's endpoint: `/claude-code` */
  readonly path: string
  /** Epoch milliseconds. */
  readonly at: number
  /** The same id twice is one event. */
  readonly id: string
  /** What the agent wrote, unread. */
  readonly body: Buffer
  /** The span that the agent was started in: W3C `traceparent`. */
  readonly traceparent: string | undefined
}
