/** What we touch of the MCP SDK, in both of its lines (1.32 and 2.4): nothing of it is imported. */

/** A transport of a client or of a server: stdio, HTTP, or in memory. */
export interface McpTransport {
  /** Sends a message, or several at once. */
  // biome-ignore lint/suspicious/noExplicitAny: each transport of each line has types of its own, and all of them are meant.
  send(message: any, options?: any): Promise<void>
}

/** An `McpServer`, or the `Server` that stands below it. */
export interface McpServer {
  /** As of the SDK. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  connect(transport: any): Promise<void>
}
