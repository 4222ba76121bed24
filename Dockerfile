# Builds the package in one stage, and installs only the package in the other.
FROM node:22-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci
RUN npm pack --pack-destination /package

FROM node:22-bookworm-slim
COPY --from=build /package /package
RUN npm install --global /package/*.tgz && npm cache clean --force && rm -r /package
RUN mkdir /home/node/automate && chown node:node /home/node/automate
# A user without rights: neither the image nor the host can be changed from inside.
USER node
WORKDIR /work
ENV AUTOMATE_HOME=/home/node/automate
VOLUME /home/node/automate
EXPOSE 4020
# Only a server has a port. Start other commands with --no-healthcheck: one of more than two minutes would count as unhealthy.
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s CMD ["node", "-e", "fetch('http://127.0.0.1:4020/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["automate"]
CMD ["--help"]
