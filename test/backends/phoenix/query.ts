import type { StatusName } from '../workload/fed-span.ts'

/** The most that one answer may hold. */
const PAGE = 1000

export interface Content {
  readonly value: string
  readonly mimeType: 'text' | 'json'
}

export interface CostSummary {
  readonly prompt: { readonly tokens: number | null; readonly cost: number | null }
  readonly completion: { readonly tokens: number | null; readonly cost: number | null }
  readonly total: { readonly tokens: number | null; readonly cost: number | null }
}

/** A span as Phoenix has stored it, by its REST API. */
export interface StoredSpan {
  readonly name: string
  readonly context: { readonly trace_id: string; readonly span_id: string }
  readonly parent_id: string | null
  readonly span_kind: string
  readonly status_code: StatusName
  readonly status_message: string
  readonly start_time: string
  readonly end_time: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[]
}

/** What its page makes of a span: what it counts, what it prices, what it shows. */
export interface PageSpan {
  readonly spanId: string
  readonly latencyMs: number
  readonly tokenCountPrompt: number | null
  readonly tokenCountCompletion: number | null
  readonly tokenCountTotal: number | null
  readonly tokenPromptDetails: { readonly cacheRead: number | null; readonly cacheWrite: number | null }
  readonly cumulativeTokenCountTotal: number | null
  readonly costSummary: CostSummary | null
  readonly input: Content | null
  readonly output: Content | null
}

export interface PhoenixSession {
  readonly id: string
  readonly sessionId: string
  readonly numTraces: number
  readonly firstInput: Content | null
  readonly lastOutput: Content | null
  readonly tokenUsage: { readonly prompt: number; readonly completion: number; readonly total: number }
  readonly costSummary: CostSummary
}

export interface PhoenixTrace {
  readonly trace_id: string
  readonly token_count_prompt: number
  readonly token_count_completion: number
  readonly token_count_total: number
}

export interface PhoenixProject {
  readonly id: string
  readonly name: string
  readonly recordCount: number
  readonly traceCount: number
  readonly tokenCountPrompt: number
  readonly tokenCountCompletion: number
  readonly tokenCountTotal: number
  readonly costSummary: CostSummary
}

export interface ModelPrice {
  readonly name: string
  readonly namePattern: string
  readonly provider: string | null
  readonly tokenPrices: readonly {
    readonly tokenType: string
    readonly kind: 'PROMPT' | 'COMPLETION'
    readonly costPerToken: number
  }[]
}

const COST = '{ prompt { tokens cost } completion { tokens cost } total { tokens cost } }'
const CONTENT = '{ value mimeType }'
const TOKENS = `
  tokenCountPrompt tokenCountCompletion tokenCountTotal tokenPromptDetails { cacheRead cacheWrite }
  cumulativeTokenCountTotal`
const SPAN = `spanId latencyMs ${TOKENS} costSummary ${COST} input ${CONTENT} output ${CONTENT}`
const SESSION = `
  id sessionId numTraces firstInput ${CONTENT} lastOutput ${CONTENT} tokenUsage { prompt completion total }
  costSummary ${COST}`
const PROJECT = `
  id name recordCount traceCount tokenCountPrompt tokenCountCompletion tokenCountTotal costSummary ${COST}`

interface Connection<Node> {
  readonly edges: readonly { readonly node: Node }[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

/** Asks a Phoenix for what it has, by the APIs that its own page and its clients use. */
export class PhoenixQuery {
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor(url: string, token?: string) {
    this.#url = url
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  }

  /** How many spans a project has; none where there is no such project. */
  async count(name: string): Promise<number> {
    const { projects } = await this.graphql<{ projects: Connection<Pick<PhoenixProject, 'name' | 'recordCount'>> }>(
      `{ projects(first: ${PAGE}) { edges { node { name recordCount } } pageInfo { hasNextPage endCursor } } }`,
    )
    return projects.edges.find(({ node }) => node.name === name)?.node.recordCount ?? 0
  }

  async projects(): Promise<readonly PhoenixProject[]> {
    const { projects } = await this.graphql<{ projects: Connection<PhoenixProject> }>(
      `{ projects(first: ${PAGE}) { edges { node {${PROJECT}} } pageInfo { hasNextPage endCursor } } }`,
    )
    return projects.edges.map(({ node }) => node)
  }

  /** @throws where there is none of that name */
  async project(name: string): Promise<PhoenixProject> {
    const all = await this.projects()
    const found = all.find(project => project.name === name)
    if (found === undefined) throw new Error(`no project ${name}: ${all.map(project => project.name).join(', ')}`)
    return found
  }

  /** All spans of a project. */
  spans(project: string): Promise<StoredSpan[]> {
    return this.#listed<StoredSpan>(`/v1/projects/${encodeURIComponent(project)}/spans`)
  }

  /** @param filter what a person writes above the table of spans: each field of each span is looked up for itself */
  pageSpans(project: string, filter: string): Promise<PageSpan[]> {
    const field = `spans(first: ${PAGE}, filterCondition: ${JSON.stringify(filter)}, after: $after)`
    return this.#pages<PageSpan>(project, field, SPAN)
  }

  sessions(project: string): Promise<PhoenixSession[]> {
    return this.#pages<PhoenixSession>(project, `sessions(first: ${PAGE}, after: $after)`, SESSION)
  }

  async prices(): Promise<readonly ModelPrice[]> {
    const fields = 'name namePattern provider tokenPrices { tokenType kind costPerToken }'
    const { generativeModels } = await this.graphql<{ generativeModels: Connection<ModelPrice> }>(
      `{ generativeModels(first: ${PAGE}) { edges { node { ${fields} } } pageInfo { hasNextPage endCursor } } }`,
    )
    return generativeModels.edges.map(({ node }) => node)
  }

  /** All traces of a project. */
  traces(project: string): Promise<PhoenixTrace[]> {
    return this.#listed<PhoenixTrace>(`/v1/projects/${encodeURIComponent(project)}/traces`)
  }

  async get<Data>(path: string): Promise<Data> {
    const response = await fetch(this.#url + path, { headers: this.#headers })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${(await response.text()).slice(0, 500)}`)
    return (await response.json()) as Data
  }

  async graphql<Data>(query: string, variables: object = {}): Promise<Data> {
    const response = await fetch(`${this.#url}/graphql`, {
      method: 'POST',
      headers: { ...this.#headers, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    })
    const body = await response.text()
    if (!response.ok) throw new Error(`graphql: ${response.status} ${body.slice(0, 500)}`)
    const { data, errors } = JSON.parse(body) as { data: Data; errors?: unknown }
    if (errors !== undefined) throw new Error(`graphql: ${JSON.stringify(errors).slice(0, 1000)}`)
    return data
  }

  async #pages<Node>(project: string, field: string, selection: string): Promise<Node[]> {
    const { id } = await this.project(project)
    const name = field.slice(0, field.indexOf('('))
    const query = `query Page($id: ID!, $after: String) { node(id: $id) { ... on Project {
      ${field} { edges { node {${selection}} } pageInfo { hasNextPage endCursor } } } } }`
    const nodes: Node[] = []
    for (let after: string | null = null; ; ) {
      type Answer = { readonly node: Readonly<Record<string, Connection<Node> | undefined>> }
      const { node }: Answer = await this.graphql<Answer>(query, { id, after })
      const page: Connection<Node> | undefined = node[name]
      if (page === undefined) throw new Error(`${project} has no ${name}`)
      nodes.push(...page.edges.map(edge => edge.node))
      if (!page.pageInfo.hasNextPage) return nodes
      after = page.pageInfo.endCursor
    }
  }

  async #listed<Item>(path: string): Promise<Item[]> {
    const items: Item[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      type Answer = { readonly data: readonly Item[]; readonly next_cursor: string | null }
      const page: Answer = await this.get<Answer>(`${path}?limit=${PAGE}${after}`)
      items.push(...page.data)
      cursor = page.next_cursor
    }
    return items
  }
}
