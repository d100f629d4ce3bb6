# The decision point. Packages come from the lock with their hashes, before the sources, so that they are a layer of their own.
FROM python:3.13-slim
WORKDIR /opt/remit
COPY locks/run.txt locks/run.txt
RUN pip install --no-cache-dir --require-hashes --requirement locks/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY graph graph
COPY service service
COPY enforce enforce
COPY policy policy
COPY fixtures/worlds fixtures/worlds
RUN pip install --no-cache-dir --no-deps --no-build-isolation . && useradd --system --create-home remit
USER remit
WORKDIR /home/remit
EXPOSE 8180
ENTRYPOINT ["remit"]
CMD ["serve"]
