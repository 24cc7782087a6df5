/** The parts of the MCP SDK that we use, in both of its lines (1.32 and 2.4), declared here to avoid an import. */

/** A transport of a client or of a server: stdio, HTTP, or in memory. */
export interface McpTransport {
  /** Sends a message, or several at once. */
  // biome-ignore lint/suspicious/noExplicitAny: each transport of each line has types of its own, and all of them are meant.
  send(message: any, options?: any): Promise<void>
}

/** An `McpServer`, or the `Server` inside it. */
export interface McpServer {
  /** Connects the server, as in the SDK. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  connect(transport: any): Promise<void>
}
