/** The groups of operations, in the order in which the reference shows them. */
export const TAGS: Record<string, string> = {
  Templates: 'Markdown files from which jobs are created, where they come from, and first drafts of them',
  Metrics: 'Numbers over time that are defined once and that any template reads',
  Jobs: 'Runs of templates: created, run, watched, canceled, and their results',
  Insights: 'What completed jobs found',
  Collections: 'Insights that belong together for their readers',
  Links: 'Secret addresses that open one insight without a token',
  Schedules: 'Templates that run by a cron expression',
  Readers: 'Persons for whom personal insights are made, and the attributes that choose their rows',
  Files: 'Uploads of tables',
  Webhooks: 'Addresses that get events by signed requests, and their deliveries',
  Subscriptions: 'Events for people, by mail or chat',
  Connections: 'Databases, web servers and buckets that templates read',
  Events: 'What happened, for clients that receive no webhooks',
  Authentication: 'Who asks: tokens by password, and the sign-ins of browsers',
  Administration: 'Users, workspaces, tokens, nodes, settings and the audit trail',
  Service: 'Whether this process is well, what it measures, and this document',
}
