# An Everlap worker. The agents are not in the image: mount a config (docker-compose.yml does), or build on it:
#   FROM everlap-worker
#   COPY everlap.config.ts ./
# Debian, not Alpine: the Temporal SDK's native part is built for glibc.
ARG NODE_IMAGE=node:22-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build && npm prune --omit=dev

FROM ${NODE_IMAGE}
# The SDK's TLS (Temporal Cloud, mTLS) takes the system's certificates, which the slim image leaves out.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV NODE_ENV=production
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY docker/worker-health.js ./docker/
# Runs' workspace folders; a volume mounted here starts with this owner.
RUN mkdir .everlap && chown node:node .everlap
USER node
CMD ["node", "dist/cli/main.js", "worker"]
